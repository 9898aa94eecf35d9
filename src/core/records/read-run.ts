// Reads a run from its records. Repeats the recorded run without its middleware and tools, and stops at the first step that is not
// recorded.

import type { Json } from "../types/common.ts";
import type { Journal } from "../types/journal.ts";
import type { CompactedMessages, CompactionAnswer } from "../types/middleware-options.ts";
import { applyHandoff, type HandoffFold } from "../../shared/apply-handoff.ts";
import { toCompacted } from "../../shared/transcript.ts";
import { isLoopError, LoopError } from "../../shared/errors/loop-error.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import { checkStepRecord, isCompaction } from "../loop/check-record.ts";
import { JournalFailure, toJournalFailure } from "../loop/hooks.ts";
import { type FirstRecord, recordVersion, placeOf, stepOf } from "../loop/journals.ts";
import { addSpending } from "../loop/middleware-tools.ts";
import { type ReadRun, readRun } from "../loop/read-run.ts";
import { enableJournals } from "../loop/replay/enable-journals.ts";
import { ReplayJournal } from "../loop/replay/replay-journal.ts";
import type { RequestEnd } from "../loop/durability/record-run.ts";
import type { AskedEnd } from "../loop/past.ts";
import { endPlace } from "../loop/run-tool-loop.ts";
import type { SeamOptions } from "../loop/run.ts";
import { endWith } from "../loop/seam.ts";
import type { Answer, CallRecorder, Ending, Hooks, Look, Middleware, Recorder, State } from "../types/middleware.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { digest, stableJson } from "../../shared/json.ts";
import { CallReader, type PendingCall } from "./read-calls.ts";
import { readWaits } from "../loop/replay/read-waits.ts";
import { type RecordedPlace, type Records, toRecords } from "./recorded-places.ts";

/** Returns middleware that observes a run while its records are read. It becomes the innermost middleware. */
export type WatchRun = (place: RecordedPlace) => Middleware;

export interface RecordedRun extends ReadRun {
  readonly first: FirstRecord;
  readonly pendingCalls: readonly PendingCall[];
}

/**
 * Reads the run in a journal: its state, its result if it has ended, and its open calls. Runs no tool and writes nothing. `watch` is called
 * for each recorded run, and returns middleware that sees the records as it would in a replay. Returns undefined if the run has not
 * started. Throws LoopError "journal-mismatch" or "journal-damaged".
 */
export async function readRecords(
  recorded: Pick<Journal, "durable" | "read" | "keys">,
  watch?: WatchRun,
): Promise<RecordedRun | undefined> {
  enableJournals();
  let last = "run";
  const records = toRecords(recorded);
  const { durable, findRuns } = records;
  // `ReplayJournal` waits for pending reads, so that a slow journal is not mistaken for the end of the records.
  const journal = new ReplayJournal({ read: (key) => records.read((last = key)), step: neverStep });
  const read = async <T>(key: string): Promise<T | undefined> => (await journal.read(key)) as T | undefined;
  try {
    const first = await readFirst(read);
    if (first === undefined) return undefined;
    const calls = new CallReader({ durable, optionsOf: (place) => optionsOf(place, watch) });
    const place: RecordedPlace = { records: { durable, read, findRuns }, first, prefix: "", path: "" };
    const options = { ...optionsOf(place, watch), journal };
    const found = await readRun(options, { readCall: (run, call, index) => calls.read(place, { run, call, index }) });
    return { ...found, first, pendingCalls: calls.conclude("", found) };
  } catch (thrown) {
    const error: unknown = thrown instanceof JournalFailure ? thrown.cause : thrown;
    // Disk errors, and errors that already name the record, are thrown unchanged.
    if (isLoopError(error) && error.code.startsWith("journal-")) throw error;
    if (error instanceof Error && "errno" in error) throw error;
    throw new LoopError("journal-damaged", { key: last, problem: `cannot be read: ${toPlainError(error).message}` });
  }
}

function neverStep(): never {
  throw new Error("Records are read-only.");
}

async function readFirst(read: Records["read"]): Promise<FirstRecord | undefined> {
  const first = await read<FirstRecord>("run");
  if (first === undefined) {
    if ((await read("begin")) === undefined) return undefined;
    throw new LoopError("journal-damaged", { key: "run", problem: "is missing" });
  }
  if (first.version !== recordVersion)
    throw new LoopError("journal-mismatch", {
      field: "version",
      expected: String(recordVersion),
      received: String(first.version),
    });
  return first;
}

/** Returns the options for reading a run. They set no limits, because the records contain every ending that a limit caused. */
function optionsOf(place: RecordedPlace, watch: WatchRun | undefined): SeamOptions {
  const { first } = place;
  const { messages, middleware, priced } = first;
  if (digest(stableJson(messages)) !== first.messagesDigest)
    throw new LoopError("journal-damaged", { key: `${place.prefix}run`, problem: 'contains modified "messages"' });
  const none = Number.POSITIVE_INFINITY;
  return {
    provider: { id: "", model: "", stream: () => [] as never },
    messages,
    middleware: [
      ...middleware.map((name) => toStub(name, place)),
      { name: " ending", pure: true, begin: () => readEnding(place) },
      { name: " again", pure: true, begin: () => readAgain(place) },
      ...(watch === undefined ? [] : [watch(place)]),
    ],
    limits: {
      maxIterations: none,
      softWarnIteration: none,
      maxConsecutiveToolErrors: none,
      maxPauses: none,
      maxDepth: none,
      toolConcurrency: none,
    },
    allowToolChange: () => true,
    ...(priced === true && { pricing: () => undefined }),
    // Uses time 0 so that no wait times out. A timeout would produce an answer that the records do not contain.
    now: 0,
  };
}

/** Returns the place of a request or an ending in its run. This place is also the prefix of its wait ids. */
function placeIn(at: Recorder): string {
  return (at as CallRecorder).callId;
}

const completed: Ending = { status: "completed", reason: { kind: "answered" } };

/** Prevents errors about records from ending the run as "hook-failed". */
function guarded<Args extends readonly unknown[], T>(work: (...args: Args) => Promise<T>): (...args: Args) => Promise<T> {
  return async (...args) => {
    try {
      return await work(...args);
    } catch (cause) {
      throw toJournalFailure(cause);
    }
  };
}

/** Restores the effects that middleware had on requests, and the endings that it planned or changed. */
function readEnding({ records: { read }, prefix, path }: RecordedPlace): Hooks {
  let asked: AskedEnd | undefined;
  let answered: Look | undefined;
  const waitFor = async (at: Recorder): Promise<void> => {
    const waits = await readWaits(read, path + placeIn(at));
    await Promise.all(waits.map(({ what, facts, until }) => at.wait(what, facts, { until })));
  };
  /** Ends the run after a paused message, unless the records contain another request that continues the message. */
  const endPaused = async (answer: Answer, state: State): Promise<Answer> => {
    if (answered === undefined || !isUnfinished(answer)) return answer;
    const next = `${prefix}${placeOf(state)}/${stepOf("request", state.continuation + 1)}`;
    const goesOn = (await read(`${next}/model`)) ?? (await read(`${next}/ended`));
    return goesOn === undefined ? { ...answer, ends: answered.ending ?? completed } : answer;
  };
  const makeRequest: NonNullable<Hooks["request"]> = async (request, next, at) => {
    const place = prefix + placeIn(at);
    const model = await read<Answer>(`${place}/model`);
    if (model === undefined) await waitFor(at);
    const { added = [] } = model ?? {};
    for (const message of added) at.state.messages.push(message);
    const draft = added.length === 0 ? request : { ...request, messages: [...request.messages, ...added] };
    let answer = await next(draft);
    for (let count = 2; (await read(`${place}/model~${count}`)) !== undefined; count += 1) answer = await next(draft);
    return endPaused(answer, at.state);
  };
  return {
    request: guarded(async (request, next, at) => {
      const { state } = at;
      const place = prefix + placeIn(at);
      asked = await readAsked(read, prefix + endPlace(state));
      answered = await read<Look>(`${prefix}${placeOf(state)}/${stepOf("answered", state.continuation)}`);
      const end = await read<RequestEnd>(`${place}/ended`);
      const isSkipped = end !== undefined && (await read(`${place}/model`)) === undefined;
      const answer = isSkipped ? endWith(completed, request.provider) : await makeRequest(request, next, at);
      return merge(place, answer, { end, at });
    }),
    ends({ phase }) {
      if (asked?.phase === phase) return asked.planned;
      return phase === "answer" && answered !== undefined ? (answered.ending ?? completed) : undefined;
    },
    beforeEnd: guarded(async (_ending, at) => {
      const end = await readAsked(read, prefix + placeIn(at));
      if (end === undefined) await waitFor(at);
      if (end?.spent !== undefined) addSpent(at, end.spent);
      return end && { ending: end.ending };
    }),
  };
}

/** Returns the newest record of an ending that middleware changed. */
async function readAsked(read: Records["read"], place: string): Promise<AskedEnd | undefined> {
  let asked = await read<AskedEnd>(`${place}/ended`);
  for (let count = 2, next = asked; next !== undefined; count += 1) {
    asked = next;
    next = await read<AskedEnd>(`${place}/ended~${count}`);
  }
  return asked;
}

interface Merged {
  readonly end: RequestEnd | undefined;
  readonly at: Recorder;
}

function merge(place: string, answer: Answer, { end, at }: Merged): Answer {
  if (end === undefined) return answer;
  if (end.spent !== undefined) addSpent(at, end.spent);
  const merged = { ...answer, ...end.changes };
  checkStepRecord(`${place}/model`, merged);
  return merged;
}

function addSpent(at: Recorder, { toolCallsExecuted, ...spending }: NonNullable<RequestEnd["spent"]>): void {
  addSpending(at, spending);
  at.state.toolCallsExecuted += toolCallsExecuted;
}

function readAgain({ records: { read }, prefix }: RecordedPlace): Hooks {
  return {
    beforeEnd: guarded(async (_ending, at) => {
      const end = await readAsked(read, prefix + placeIn(at));
      if (end === undefined || !("again" in end)) return undefined;
      const { again, isCounted } = end;
      return { again, ...(isCounted === true && { isCounted }) };
    }),
  };
}

/** Returns a stub that repeats the recorded effects of the middleware with this name. */
function toStub(name: string, place: RecordedPlace): Middleware {
  const begin = name === "handoffs" ? readHandoffs : name === "compaction" ? readCompaction : undefined;
  return { name, begin: () => begin?.(place) ?? {} };
}

function readHandoffs({ records: { read }, prefix }: RecordedPlace): Hooks {
  const own: HandoffFold = { agent: undefined, handoffs: [] };
  let last: State["lastBatch"] | undefined;
  const fold = (state: State): void => {
    if (state.lastBatch === last) return;
    last = state.lastBatch;
    applyHandoff(own, state);
  };
  return {
    request: guarded(async (request, next, at) => {
      const begun = await read<{ readonly value: { readonly agent: string } }>(`${prefix}${placeIn(at)}/@handoffs/agent`);
      own.agent ??= begun?.value.agent;
      fold(at.state);
      return next({ ...request, agent: own.agent });
    }),
    result: (state) => (fold(state), { agent: own.agent, handoffs: [...own.handoffs] }),
  };
}

function sendCompaction({ emit }: Recorder, answer: CompactionAnswer, cause: "due" | "forced"): void {
  const { kind: outcome, tokensBefore, tokensAfter, spending } = answer;
  const { provider, model, usage, costUSD } = spending ?? {};
  const error = answer.kind === "failed" ? { error: answer.error } : {};
  emit("compaction-start", { cause });
  emit("compaction-end", { outcome, tokensBefore, tokensAfter, provider, model, usage, costUSD, ...error });
}

function readCompaction({ records: { read }, prefix }: RecordedPlace): Hooks {
  let compaction: CompactedMessages | undefined;
  return {
    request: guarded(async (request, next, at) => {
      const step = `${prefix}${placeIn(at)}/@compaction`;
      const earlier = await read<{ readonly value?: unknown }>(`${step}/earlier`);
      if (isCompaction(earlier?.value)) compaction ??= earlier.value;
      const summary = await read<{ readonly value?: CompactionAnswer }>(`${step}/summary`);
      if (summary?.value !== undefined) {
        const due = await read<{ readonly value?: Json }>(`${step}/due`);
        sendCompaction(at, summary.value, due?.value === true ? "due" : "forced");
        if (summary.value.kind === "compacted" && isCompaction(summary.value.compaction)) ({ compaction } = summary.value);
      }
      return next(compaction === undefined ? request : { ...request, messages: toCompacted(request.messages, compaction) });
    }),
    result: () => ({ compaction }),
  };
}
