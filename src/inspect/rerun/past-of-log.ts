import { type AssistantPart, type Outcome, recordOf } from "../../core/kit.ts";
import type { CompactionAnswer } from "../../core/types/middleware-options.ts";
import type {
  ContentPart,
  Json,
  Message,
  PlainError,
  ProviderError,
  StreamResult,
  ToolCall,
  ToolOutcome,
  ToolResultPart,
} from "../../core/index.ts";
import { judgeFinish } from "../../shared/judge-finish.ts";
import { noUsage, sumSpending } from "../../shared/count-usage.ts";
import { isSameJson } from "../../shared/json.ts";
import { textOrNone } from "../../shared/plain-error.ts";
import { renderOutcome } from "../../shared/to-outcome.ts";
import type { UnknownRecord } from "../../shared/guards.ts";
import type { LoggedCall, LoggedIteration, LoggedRun, LoggedCompaction, LoggedRequest } from "../../shared/run-log.ts";
import { noOutput } from "../log/read-parts.ts";
import {
  findAdded,
  findContext,
  type Past,
  type PastIteration,
  refuseRerun,
  unknownIteration,
  withoutContext,
  type PastCompaction,
} from "./past.ts";
import { totalsOf } from "../analysis/run-totals.ts";
import { slotOf } from "../analysis/align-messages.ts";
import { isSameText } from "../analysis/json-parts.ts";
import { isSummary } from "../analysis/request-messages.ts";

type NestedSpending = NonNullable<ToolOutcome["nested"]>;

interface CallParts {
  readonly logged: LoggedCall;
  readonly call: ToolCall;
  /** The arguments that an approval set in place of the model's arguments. */
  readonly approvedArgs?: Json | undefined;
  readonly sent?: ToolResultPart | undefined;
}

/**
 * Returns a call's outcome. Returns undefined if the log does not have the complete outcome, for example for a call that restarted the
 * context.
 */
export function toLoggedOutcome({ logged, call, approvedArgs, sent }: CallParts): ToolOutcome | undefined {
  const { durationMs = 0, result, runs, outcome: kind } = logged;
  if (kind === undefined || result === undefined || sent?.outcome === "restarted") return undefined;
  const nested = sumSpending(runs.map(spendingOf));
  const base = { call, durationMs, ...(approvedArgs !== undefined && { approvedArgs }), ...(nested && { nested }) };
  const rebuild = Object.hasOwn(rebuilders, kind) ? rebuilders[kind] : undefined;
  if (rebuild === undefined) return undefined;
  const report = recordOf(result);
  const own = rebuild({ report, reason: textOrNone(report["reason"]), result, content: sent?.content, handoff: logged.handoff });
  // Safe cast: the next line compares the outcome with the logged result.
  const outcome = { ...base, kind, ...own } as ToolOutcome;
  return isSameJson(renderOutcome(outcome), result) ? outcome : undefined;
}

interface Rebuilding extends Pick<LoggedCall, "handoff"> {
  /** The logged result as an object. */
  readonly report: UnknownRecord;
  readonly reason: string | undefined;
  readonly result: Json;
  readonly content: readonly ContentPart[] | undefined;
}

const textsIn = (value: unknown): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const none = (): object => ({});

/** Functions that rebuild an outcome's fields except `kind`, by kind. */
const rebuilders: { readonly [kind: string]: ((rebuilding: Rebuilding) => object) | undefined } = {
  completed: ({ result, content, handoff }) => ({ data: result, ...(content && { content }), ...(handoff && { handoff }) }),
  failed: ({ reason = "", report, content }) => ({ error: { name: "Error", message: reason }, data: report["data"], content }),
  "timed-out": ({ reason = "" }) => ({ limitMs: Number(/^timed out after (\d+(?:\.\d+)?) ms$/.exec(reason)?.[1]) }),
  blocked: ({ report: { status, allowedToolNames } }) => ({
    allowed: textsIn(allowedToolNames),
    ...(status === "blocked_by_tool_choice" && { by: "tool-choice" }),
  }),
  denied: ({ reason }) => ({ reason }),
  "approval-failed": () => ({ error: { name: "Error", message: "" } }),
  "unknown-tool": ({ reason = "", report }) => {
    const nearest = /Did you mean ("(?:[^"\\]|\\.)*")\?$/.exec(reason)?.[1];
    return {
      known: textsIn(report["available_tools"]),
      ...(nearest !== undefined && { nearest: JSON.parse(nearest) as string }),
    };
  },
  "invalid-input": ({ reason = "" }) => ({ issues: [{ message: reason }] }),
  malformed: ({ reason }) => ({ message: reason }),
  truncated: none,
  interrupted: none,
  limit: none,
  "not-run": none,
};

function spendingOf(run: LoggedRun): NestedSpending {
  const { usage = noUsage, costUSD, toolCallsExecuted = 0 } = run;
  return { usage, costUSD, ...(costUSD === undefined && { knownCostUSD: totalsOf(run).costUSD }), toolCallsExecuted };
}

export interface NumberedRequest {
  readonly iteration: number;
  readonly request: LoggedRequest;
}

interface RequestReading {
  readonly requests: readonly NumberedRequest[];
  readonly contextItems: readonly Json[];
  readonly from: number;
}

interface PastMessages {
  /** All messages before the iteration `from`, without summaries. */
  readonly transcript: readonly Message[];
  readonly compactions: ReadonlyMap<number, PastCompaction>;
}

/** Reads the transcript from the first request that will run again, and from the requests before and after each compaction. */
function readMessages(run: LoggedRun, { requests, contextItems, from }: RequestReading): PastMessages {
  const compactions = new Map<number, PastCompaction>();
  const messagesAt = (index: number): readonly Message[] =>
    withoutContext(requests[index]?.request.messages() ?? [], contextItems);
  let count = 0;
  let transcript: readonly Message[] = [];
  const readTo = (index: number): void => {
    const messages = messagesAt(index);
    const summary = count === 0 ? -1 : messages.findIndex(isSummary);
    transcript = summary === -1 ? messages : [...transcript.slice(0, count), ...messages.slice(summary + 1)];
  };
  const found = requests.findIndex(({ iteration }) => iteration >= from);
  const last = found === -1 ? requests.length - 1 : found;
  for (const compaction of run.compactions) {
    const next = requests.findIndex(({ iteration }) => iteration >= compaction.iteration);
    if (next === -1 || next > last || compaction.endedAt === undefined) continue;
    // A summary that is already in the first request needs no search, because no request contains the messages before it.
    if (next === 0) continue;
    readTo(next - 1);
    const made = compaction.outcome === "compacted" ? findReplaced(transcript, messagesAt(next)) : failed;
    if (made === undefined) throw refuseRerun(from, `its log does not have the summary before iteration ${compaction.iteration}`);
    count = made.count ?? count;
    if (compaction.iteration < from) compactions.set(compaction.iteration, toPastCompaction(compaction, made));
  }
  readTo(last);
  return { transcript, compactions };
}

const failed: { readonly count?: undefined } = {};

type Compacted = Extract<CompactionAnswer, { kind: "compacted" }>["compaction"];

/** Finds the messages that a summary replaced. The messages after the summary are the last ones in the transcript. */
function findReplaced(transcript: readonly Message[], messages: readonly Message[]): Compacted | undefined {
  const at = messages.findIndex(isSummary);
  const message = messages[at];
  if (message?.role !== "user" || typeof message.content !== "string") return undefined;
  const rest = messages.slice(at + 1);
  const isCut = (count: number): boolean => {
    const left = transcript.slice(count);
    return left.length <= rest.length && left.every((one, index) => isSame(one, rest[index]));
  };
  const first = Math.max(1, transcript.length - rest.length);
  const count =
    Array.from({ length: transcript.length + 1 - first }, (_, index) => first + index).find(isCut) ?? transcript.length;
  let next = 0;
  const kept = messages.slice(0, at).map((one) => {
    const index = transcript.findIndex((other, place) => place >= next && isSameText(one, other));
    next = index + 1;
    return index;
  });
  const summary = message.content.slice(message.content.indexOf("\n") + 1);
  return kept.every((index) => index >= 0 && index < count) ? { summary, count, kept } : undefined;
}

/** Compares tool messages only by their calls, because masking may have cleared results in one of them. */
function isSame(one: Message, other: Message | undefined): boolean {
  return one.role === "tool" ? slotOf(one) === slotOf(other) : isSameText(one, other);
}

function toPastCompaction(compaction: LoggedCompaction, made: Compacted | typeof failed): PastCompaction {
  const { cause = "due", tokensBefore = 0, tokensAfter = 0, error = unknownError } = compaction;
  const base = { tokensBefore, tokensAfter, ...spendingOfSummary(compaction) };
  if (made.count !== undefined) return { cause, answer: { ...base, kind: "compacted", compaction: made } };
  return { cause, answer: { ...base, kind: "failed", error } };
}

const unknownError: PlainError = { name: "Error", message: "The log does not contain the error of this compaction." };

function spendingOfSummary({ provider, model = "", usage, costUSD }: LoggedCompaction): Pick<CompactionAnswer, "spending"> {
  return provider === undefined ? {} : { spending: { provider, model, usage, costUSD } };
}

/**
 * The calls and results in a run's requests, by call id. A result comes from the first request that contains it, because it may be masked
 * in later requests.
 */
interface SentParts {
  readonly calls: ReadonlyMap<string, Extract<AssistantPart, { type: "tool-call" }>>;
  readonly results: ReadonlyMap<string, ToolResultPart>;
}

/** Reads the iterations before `from` from a log. Throws LoopError "rerun-refused" if the run cannot be repeated up to that point. */
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
 * Returns the messages that the run began with. A rerun's log contains no requests for repeated iterations, so for a rerun, returns the
 * messages before the output of iteration 0.
 */
function findGiven({ transcript, first, contextItems, iterations, from }: Given): readonly Message[] {
  if (first === undefined) throw refuseRerun(from, "its log has no request. Use the journal of the run, if there is one");
  if (first.iteration === 0) return withoutContext(first.request.messages(), contextItems);
  const [stream] = iterations[0] ?? [];
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
    throw unknownIteration(from, { iteration: number, what: `the log does not contain the end of iteration ${number}` });
  const outcomes: Outcome[] = [];
  const callsOf = streams.map(({ calls }) => calls.map((logged) => toCall(logged, reading.sent)));
  for (const logged of streams.flatMap(({ calls }) => calls)) {
    const outcome = readOutcome(logged, reading);
    const textForModel = reading.sent.results.get(logged.callId)?.result;
    const isChanged = outcome.kind === "completed" && typeof textForModel === "string" && textForModel !== outcome.data;
    outcomes.push(isChanged ? { ...outcome, textForModel } : outcome);
  }
  const last = streams.length - 1;
  const isRefused = run.compactions.some(({ iteration, cause }) => iteration === number + 1 && cause === "forced");
  return streams.map((stream, index) => {
    const ended = index === last && outcomes.length > 0 ? { refusals: outcomes } : {};
    const around = { calls: callsOf[index] ?? [], before: streams.slice(0, index), from, isRefused };
    return { ...toStreamResult(stream, around), ...ended };
  });
}

/** Returns an iteration's streams. If it was repeated after a crash or a retry, returns those of the last repetition. */
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
  /** True if the service rejected the request as too long, which caused a compaction. */
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
  const { at: _at, error: _error, rawFinish, ...said } = output;
  const all = [...before, stream];
  const content = {
    text: all.some((one) => one.output !== undefined && one.output.text.trim() !== ""),
    calls: all.some((one) => one.calls.length > 0),
  };
  // Computes the end reason, because a log contains only each stream's finish reason.
  const { status, reason } = isRefused
    ? ({ status: "error", reason: { kind: "provider-error", error: tooLong } } as const)
    : judgeFinish(finish, content, rawFinish);
  if ((status === "error" && !isRefused) || status !== stream.status)
    throw unknownIteration(from, {
      iteration,
      what: `iteration ${iteration} ended with the status ${stream.status ?? "unknown"}`,
    });
  return {
    ...said,
    status,
    reason,
    calls,
    finish,
    usage,
    costUSD,
    provider,
    model,
    visibleTools: stream.request?.tools.map(({ name }) => name) ?? [],
    durationMs,
  };
}
