import {
  type AssistantPart,
  type Json,
  judgeFinish,
  type Message,
  type ProviderError,
  type StreamResult,
  type ToolCall,
  type ToolOutcome,
  type ToolResultPart,
} from "../../core/entry-kit.ts";
import type { LoggedCall, LoggedIteration, LoggedRun } from "../log/run-log.ts";
import { noOutput } from "../log/read-parts.ts";
import { type NumberedRequest, readMessages } from "./past-compactions.ts";
import { toLoggedOutcome } from "./logged-outcomes.ts";
import {
  findAdded,
  findContext,
  type Past,
  type PastIteration,
  type PastResult,
  refuseRerun,
  unknownIteration,
  withoutContext,
} from "./past.ts";

/**
 * The calls and results in the requests of a run, by call id. A result comes from the first request that has it, because later
 * requests may have the result masked.
 */
interface SentParts {
  readonly calls: ReadonlyMap<string, Extract<AssistantPart, { type: "tool-call" }>>;
  readonly results: ReadonlyMap<string, ToolResultPart>;
}

/** Reads the iterations before `from` from a log. Throws LoopError "rerun-refused" if the run cannot be repeated up to there. */
export function readPastOfLog(run: LoggedRun, from: number): Past {
  checkIteration(run, from);
  const sent = findParts(run);
  const iterations = Array.from({ length: from }, (_, number) => readIteration(run, { number, from, sent }));
  const requests = run.iterations.flatMap(({ iteration, request }) => (request === undefined ? [] : [{ iteration, request }]));
  const shown = requests.find(({ iteration }) => iteration >= from) ?? requests.at(-1);
  const all = requests.map(({ request }) => request.messages());
  const contextItems = findContext(all);
  const { transcript, compactions } = readMessages(run, { requests, contextItems, from });
  const messages = findGiven({ transcript, first: requests[0], contextItems, iterations, from });
  return {
    runId: run.runId,
    iterations,
    compactions,
    messages,
    contextItems,
    added: findAdded(iterations, transcript, messages.length),
    tools: shown?.request.tools ?? [],
    limits: run.limits,
    provider: shown?.request.provider ?? run.provider,
    model: shown?.request.model ?? run.model,
    system: shown?.request.system,
  };
}

function checkIteration({ iterations, path }: LoggedRun, from: number): void {
  if (path.length > 0) throw refuseRerun(from, "it is a nested run. Choose its outermost run");
  const last = iterations.reduce((most, { iteration }) => Math.max(most, iteration), -1);
  if (from <= last) return;
  throw refuseRerun(from, last < 0 ? "it has no iterations yet" : `it has iterations 0 to ${last}. Choose one of these`);
}

interface Given {
  readonly transcript: readonly Message[];
  readonly first: NumberedRequest | undefined;
  readonly contextItems: readonly Json[];
  readonly iterations: readonly PastIteration[];
  readonly from: number;
}

/**
 * Returns the messages that the run began with. The log of a rerun has no requests of the repeated iterations. For such a log,
 * returns the messages of the transcript before the output of iteration 0.
 */
function findGiven({ transcript, first, contextItems, iterations, from }: Given): readonly Message[] {
  if (first === undefined) throw refuseRerun(from, "its log has no request. Use the journal of the run, if there is one");
  if (first.iteration === 0) return withoutContext(first.request.messages(), contextItems);
  const [stream] = iterations[0]?.streams ?? [];
  const callId = stream?.calls[0]?.callId;
  const end = transcript.findIndex((message) => {
    if (message.role !== "assistant") return false;
    const { content } = message;
    return callId === undefined
      ? content.some((part) => part.type === "text" && part.text === stream?.text)
      : content.some((part) => part.type === "tool-call" && part.callId === callId);
  });
  if (end < 0) throw refuseRerun(from, "its log does not have the messages with which it began. Use the log of the first run");
  return transcript.slice(0, end);
}

function findParts({ iterations }: LoggedRun): SentParts {
  const calls = new Map<string, Extract<AssistantPart, { type: "tool-call" }>>();
  const results = new Map<string, ToolResultPart>();
  for (const message of iterations.flatMap(({ request }) => request?.added ?? [])) {
    if (message.role === "assistant")
      for (const part of message.content) if (part.type === "tool-call") calls.set(part.callId, part);
    if (message.role !== "tool") continue;
    for (const part of message.results) if (!results.has(part.callId)) results.set(part.callId, part);
  }
  return { calls, results };
}

interface Reading {
  readonly number: number;
  readonly from: number;
  readonly sent: SentParts;
}

function readIteration(run: LoggedRun, reading: Reading): PastIteration {
  const { number, from } = reading;
  const streams = lastStreams(run, number);
  const cut = streams.find(({ status }) => status === undefined);
  if (streams.length === 0 || cut !== undefined)
    throw unknownIteration(from, { iteration: number, what: `the log has no end of iteration ${number}` });
  const outcomes: ToolOutcome[] = [];
  const results: PastResult[] = [];
  const callsOf = streams.map(({ calls }) => calls.map((logged) => toCall(logged, reading.sent)));
  for (const [index, logged] of streams.flatMap(({ calls }) => calls).entries()) {
    const outcome = readOutcome(logged, reading);
    outcomes.push(outcome);
    const textForModel = reading.sent.results.get(logged.callId)?.result;
    const isChanged = outcome.kind === "completed" && typeof textForModel === "string" && textForModel !== outcome.data;
    if (isChanged) results.push({ index, textForModel, changes: [] });
  }
  const last = streams.length - 1;
  const isRefused = run.compactions.some(({ iteration, cause }) => iteration === number + 1 && cause === "forced");
  return {
    results,
    streams: streams.map((stream, index) => {
      const early = index === last && outcomes.length > 0 ? { eagerOutcomes: outcomes } : {};
      const around = { calls: callsOf[index] ?? [], before: streams.slice(0, index), from, isRefused };
      return { ...toStreamResult(stream, around), ...early };
    }),
  };
}

/**
 * Returns the streams of an iteration. If the iteration was repeated after a crash or a retry, returns the streams of the last
 * repetition.
 */
function lastStreams({ iterations }: LoggedRun, number: number): readonly LoggedIteration[] {
  const streams = iterations.filter(({ iteration }) => iteration === number);
  return streams.slice(
    Math.max(
      0,
      streams.findLastIndex(({ continuation }) => continuation === 0),
    ),
  );
}

function readOutcome(logged: LoggedCall, { number, from, sent }: Reading): ToolOutcome {
  const sentCall = sent.calls.get(logged.callId);
  const call = toCall(logged, sent);
  const approvedArgs = sentCall?.approvedArgs;
  const outcome = toLoggedOutcome({ logged, call, approvedArgs, sent: sent.results.get(logged.callId) });
  if (outcome !== undefined) return outcome;
  const what = `the log does not have the whole outcome of the call ${logged.callId} (${logged.outcome ?? "no outcome"})`;
  throw unknownIteration(from, { iteration: number, what });
}

function toCall({ callId, name, args = null, problem }: LoggedCall, { calls }: SentParts): ToolCall {
  const providerCallId = calls.get(callId)?.providerCallId;
  const unusable = problem === undefined ? {} : { problem: problem as NonNullable<ToolCall["problem"]> };
  return { callId, ...(providerCallId !== undefined && { providerCallId }), name, args, ...unusable };
}

interface Around {
  readonly calls: readonly ToolCall[];
  /** The earlier streams of the same message, before a continuation. */
  readonly before: readonly LoggedIteration[];
  readonly from: number;
  /** True if the service refused the request as too long, so that a compaction followed. */
  readonly isRefused: boolean;
}

const tooLong: ProviderError = {
  name: "Error",
  code: "context-too-long",
  message: "The request was too long.",
  retryable: false,
};

function toStreamResult(stream: LoggedIteration, { calls, before, from, isRefused }: Around): StreamResult {
  const { iteration, output = noOutput, finish, usage, costUSD, provider = "", model = "", durationMs = 0 } = stream;
  const { text, reasoning, details, thoughtLog, providerMetadata, rawFinish } = output;
  const said = [...before, stream];
  const content = {
    text: said.some((one) => one.output !== undefined && one.output.text.trim() !== ""),
    calls: said.some((one) => one.calls.length > 0),
  };
  // A log has the finish reason of each stream, but not the end reason that follows from it.
  const { status, reason } = isRefused
    ? ({ status: "error", reason: { kind: "provider-error", error: tooLong } } as const)
    : judgeFinish(finish, content, rawFinish);
  if ((status === "error" && !isRefused) || status !== stream.status)
    throw unknownIteration(from, {
      iteration,
      what: `iteration ${iteration} ended with the status ${stream.status ?? "unknown"}`,
    });
  return {
    status,
    reason,
    text,
    reasoning,
    details,
    thoughtLog,
    calls,
    finish,
    providerMetadata,
    usage,
    costUSD,
    provider,
    model,
    visibleTools: stream.request?.tools.map(({ name }) => name) ?? [],
    durationMs,
  };
}
