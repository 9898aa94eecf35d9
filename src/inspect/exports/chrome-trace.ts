// Writes a log in Chrome's Trace Event Format, as nested spans. Perfetto and speedscope require events on the same thread to be either
// nested or non-overlapping.

import { checkFields, type Checks, is } from "../../core/kit.ts";
import type { Json } from "../../core/index.ts";
import { cleanName } from "../../observe/run-observer.ts";
import { rowOf } from "../../shared/event-table.ts";
import type { LoggedCompaction, LoggedIteration, LoggedRun, RunLog, LoggedCall, LoggedWait } from "../../shared/run-log.ts";
import { toIsoTime } from "../format.ts";
import { executionsOf, stepsOf } from "../analysis/run-totals.ts";
import { waitNames, waitsOf } from "../analysis/waits.ts";

type PartCategory = "run" | "iteration" | "compaction" | "stream" | "attempt" | "tool" | "wait";

export type PartFacts = { readonly [fact: string]: Json | undefined };

/** A part of a run, with its times in milliseconds since 1970. */
export interface TracePart {
  readonly name: string;
  readonly category: PartCategory;
  readonly from: number;
  readonly to: number;
  readonly facts: PartFacts;
  readonly parts: readonly TracePart[];
  readonly marks?: readonly TraceMark[] | undefined;
}

interface TraceMark {
  readonly name: string;
  readonly at: number;
}

interface PartOptions {
  readonly captureContent: boolean;
  /** The last time in the log. Parts without an end are drawn up to this time. */
  readonly lastAt: number;
}

/** Returns a part for each execution of a run. A run that was resumed has several. */
function toRunParts(run: LoggedRun, options: PartOptions): readonly TracePart[] {
  const { runId, path, provider, model, status, reason, error, usage, costUSD, toolCallsExecuted } = run;
  return executionsOf(run).map(({ from, to: lastAt }, index, executions): TracePart => {
    const next = executions[index + 1]?.from;
    const isLast = next === undefined;
    const to = isLast ? (run.endedAt ?? options.lastAt) : lastAt;
    const begun = stepsOf(run).filter(({ startedAt }) => startedAt >= from && (isLast || startedAt < next));
    const end = isLast
      ? { status, reason: reason?.kind, error: error?.message, usage: usage as Json | undefined, costUSD, toolCallsExecuted }
      : {};
    return {
      name: path.length === 0 ? "run" : "nested run",
      category: "run",
      from,
      to,
      facts: { runId, path: path.length === 0 ? undefined : path, execution: index, provider, model, ...end },
      parts: begun.flatMap((step) => ("calls" in step ? toIterationParts(step, options) : [toCompactionPart(step, options)])),
      marks: toMarks(run, from, next),
    };
  });
}

function toMarks({ lines }: LoggedRun, from: number, next = Number.POSITIVE_INFINITY): readonly TraceMark[] {
  return lines
    .filter(({ type, at }) => rowOf({ type }).isMark === true && at >= from && at < next)
    .map(({ type, at }) => ({ name: type, at }));
}

function toCompactionPart(compaction: LoggedCompaction, { lastAt }: PartOptions): TracePart {
  const { iteration, cause, startedAt, endedAt, outcome, usage, error, isReplayed, ...facts } = compaction;
  const { tokensBefore, tokensAfter, provider, model, costUSD } = facts;
  const spent = { provider, model, usage: usage as Json | undefined, costUSD, ...(isReplayed && { replayed: true }) };
  const ending = endedAt === undefined ? { open: true } : { outcome, tokensBefore, tokensAfter, error: error?.message };
  return {
    name: "compaction",
    category: "compaction",
    from: startedAt,
    to: endedAt ?? lastAt,
    facts: { iteration, cause, ...ending, ...spent },
    parts: [],
  };
}

function toIterationParts(iteration: LoggedIteration, options: PartOptions): readonly TracePart[] {
  const { continuation, startedAt, endedAt, status, finish, usage, costUSD, isReplayed } = iteration;
  const place = { iteration: iteration.iteration, ...(continuation > 0 && { continuation }) };
  const to = endedAt ?? options.lastAt;
  const calls = iteration.calls.flatMap((call) => toCallParts(call, { iteration, options }));
  return [
    {
      name:
        continuation > 0 ? `iteration ${iteration.iteration}, continuation ${continuation}` : `iteration ${iteration.iteration}`,
      category: "iteration",
      from: startedAt,
      to,
      facts: { ...place, status, finish, usage: usage as Json | undefined, costUSD, ...(isReplayed && { replayed: true }) },
      parts: [...toStreamParts(iteration, options), ...calls],
    },
  ];
}

function toStreamParts(iteration: LoggedIteration, { captureContent, lastAt }: PartOptions): readonly TracePart[] {
  const { request, firstToken, output, attempts, endedAt } = iteration;
  if (request === undefined) return [];
  const to = output?.at ?? endedAt ?? lastAt;
  const tries = attempts.map(({ attempt, provider, model, startedAt, discardedAt, error }): TracePart => ({
    name: `attempt ${attempt}`,
    category: "attempt",
    from: startedAt,
    to: discardedAt ?? to,
    facts: { attempt, provider, model, error: error?.code, iteration: iteration.iteration },
    parts: [],
  }));
  const facts: PartFacts = {
    provider: iteration.provider ?? request.provider,
    model: iteration.model ?? request.model,
    messages: request.messageCount,
    tools: request.tools.length,
    firstTokenMs: firstToken?.ms,
    iteration: iteration.iteration,
    ...(captureContent && { text: output?.text, reasoning: output?.reasoning }),
  };
  const retries = waitsOf(iteration).map((wait) => toWait(wait, { iteration, lastAt }));
  const marks = firstToken === undefined ? [] : [{ name: "first token", at: firstToken.at }];
  const name = `stream ${request.model}`;
  return [{ name, category: "stream", from: request.at, to, facts, parts: [...tries, ...retries], marks }];
}

interface Inside {
  readonly iteration: LoggedIteration;
  readonly options: PartOptions;
}

function toCallParts(call: LoggedCall, { iteration, options }: Inside): readonly TracePart[] {
  const { callId, name, index, outcome, decision, args, result, startedAt, endedAt } = call;
  const { captureContent, lastAt } = options;
  const place = { iteration: iteration.iteration, callId: cleanName(callId) };
  const waits = waitsOf(iteration, callId).map((wait) => toWait(wait, { iteration, lastAt }));
  // A refused call never started, so it is shown at the time of its refusal.
  const from = startedAt ?? endedAt;
  if (from === undefined) return waits;
  const content = captureContent ? { args, result } : {};
  const part: TracePart = {
    name: cleanName(name),
    category: "tool",
    from,
    to: endedAt ?? lastAt,
    facts: { ...place, index, outcome, decision, ...(endedAt === undefined && { open: true }), ...content },
    parts: call.runs.flatMap((run) => toRunParts(run, options)),
  };
  return [...waits, part];
}

function toWait(
  { kind, from, to, callId }: LoggedWait,
  { iteration, lastAt }: { readonly iteration: LoggedIteration; readonly lastAt: number },
): TracePart {
  const isOpen = to === undefined;
  const facts = { kind, callId: callId === undefined ? undefined : cleanName(callId), iteration: iteration.iteration, from };
  return {
    name: waitNames[kind],
    category: "wait",
    from,
    to: to ?? lastAt,
    facts: { ...facts, ...(isOpen && { open: true }) },
    parts: [],
  };
}

/** The options of `toChromeTrace`. */
export interface ChromeTraceOptions {
  /** True to include the model's text and the calls' arguments and results in the events. Default false. */
  readonly captureContent?: boolean | undefined;
}

const checks: Checks<ChromeTraceOptions> = { captureContent: is.flag };

interface TraceEvent {
  readonly name: string;
  /** "X": complete event, "i": instant, "C": counter, "M": metadata. */
  readonly ph: "X" | "i" | "C" | "M";
  readonly pid: number;
  readonly tid?: number;
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly s?: "t";
  readonly args?: PartFacts;
}

/**
 * Returns a log as JSON in the Trace Event Format, which Perfetto (ui.perfetto.dev), speedscope and chrome://tracing can open. Each
 * outermost run is a process, and its lanes are threads. The first lane contains the parts that do not overlap. Calls that run at the same
 * time have their own lanes, together with their nested runs.
 *
 * The event categories are "run", "iteration", "compaction", "stream", "attempt", "tool" and "wait". The first token of a stream and events
 * such as "restart" are instants. The counters are the tokens and the cost of all streams and summaries so far, nested runs included. Times
 * are microseconds since the first run started. If the log contains that run's wall-clock time, it is in `otherData.startedAt`. An event
 * lasts at least 1 microsecond. Parts that have not ended extend to the last line of the log, and have `open: true`.
 *
 * The event arguments contain ids, models, usage, costs and statuses. Throws LoopError "invalid-option" or "unknown-option" if `options` is
 * invalid.
 *
 * @example
 * await writeFile("run.trace.json", toChromeTrace(await readRunLog("run.jsonl")));
 */
export function toChromeTrace(log: RunLog, options: ChromeTraceOptions = {}): string {
  checkFields("options", options, checks);
  const { captureContent = false } = options;
  const startedAt = log.runs.reduce((first, run) => Math.min(first, run.startedAt), Number.POSITIVE_INFINITY);
  const events = log.runs.flatMap((run, index) => toProcess(run, { pid: index + 1, startedAt, captureContent }));
  const hasDate = log.source === "log" && log.runs.length > 0;
  const otherData = hasDate ? { startedAt: toIsoTime(startedAt) } : {};
  return JSON.stringify({ traceEvents: events, displayTimeUnit: "ms", otherData });
}

interface ProcessPlace {
  readonly pid: number;
  readonly startedAt: number;
  readonly captureContent: boolean;
}

function toProcess(run: LoggedRun, { pid, startedAt, captureContent }: ProcessPlace): readonly TraceEvent[] {
  const parts = toRunParts(run, { captureContent, lastAt: lastTimeOf(run) });
  const placed = layOutParts(parts, startedAt);
  const lanes = placed.reduce((most, { lane }) => Math.max(most, lane), 0) + 1;
  const names = Array.from({ length: lanes }, (_, lane) => toThread(lane, pid));
  // The first event has no category, because speedscope would otherwise mistake the file for a Chrome profile.
  return [
    { name: "process_name", ph: "M", pid, args: { name: `run ${cleanName(run.runId)}` } },
    { name: "process_sort_index", ph: "M", pid, args: { sort_index: pid } },
    ...names.flat(),
    ...placed.flatMap((one) => toEvents(one, { pid, startedAt })),
    ...countSpending(run, { pid, startedAt }),
  ];
}

function toThread(lane: number, pid: number): readonly TraceEvent[] {
  const tid = lane + 1;
  return [
    { name: "thread_name", ph: "M", pid, tid, args: { name: lane === 0 ? "main" : `parallel ${lane}` } },
    { name: "thread_sort_index", ph: "M", pid, tid, args: { sort_index: lane } },
  ];
}

type Place = Pick<ProcessPlace, "pid" | "startedAt">;

function toEvents({ part, lane, ts, dur }: PlacedPart, { pid, startedAt }: Place): readonly TraceEvent[] {
  const { name, category, facts, marks = [] } = part;
  const thread = { pid, tid: lane + 1, cat: category };
  return [
    { name, ph: "X", ...thread, ts, dur, args: facts },
    ...marks.map((mark): TraceEvent => ({ name: mark.name, ph: "i", ...thread, ts: toMicroseconds(mark.at, startedAt), s: "t" })),
  ];
}

function toMicroseconds(at: number, startedAt: number): number {
  return (at - startedAt) * 1000;
}

/** Writes the token and cost totals after each stream and summary, in the order in which they ended. */
function countSpending(run: LoggedRun, { pid, startedAt }: Place): readonly TraceEvent[] {
  const ended = allSteps(run)
    .filter(({ endedAt, isReplayed }) => endedAt !== undefined && !isReplayed)
    .toSorted((one, other) => (one.endedAt ?? 0) - (other.endedAt ?? 0));
  let [input, output, cost] = [0, 0, 0];
  return ended.flatMap(({ endedAt = 0, usage, costUSD }): TraceEvent[] => {
    input += usage?.inputTokens ?? 0;
    output += usage?.outputTokens ?? 0;
    cost += costUSD ?? 0;
    const place = { ph: "C", pid, ts: toMicroseconds(endedAt, startedAt) } as const;
    const tokens: TraceEvent = { name: "tokens", ...place, args: { input, output } };
    return costUSD === undefined ? [tokens] : [tokens, { name: "cost", ...place, args: { USD: cost } }];
  });
}

function nestedRuns(run: LoggedRun): readonly LoggedRun[] {
  return run.iterations.flatMap(({ calls }) => calls.flatMap(({ runs }) => runs));
}

function allSteps(run: LoggedRun): readonly (LoggedIteration | LoggedCompaction)[] {
  return [...run.iterations, ...run.compactions, ...nestedRuns(run).flatMap(allSteps)];
}

function lastTimeOf(run: LoggedRun): number {
  const own = Math.max(run.startedAt, run.lines.at(-1)?.at ?? 0);
  return nestedRuns(run).reduce((last, nested) => Math.max(last, lastTimeOf(nested)), own);
}

/** A part on a lane, which is a thread in the trace. `ts` and `dur` are whole microseconds, and `ts` counts from the start of the trace. */
interface PlacedPart {
  readonly part: TracePart;
  readonly lane: number;
  readonly ts: number;
  readonly dur: number;
}

interface Lane {
  /** The time at which the last part on this lane ends, in milliseconds. */
  busyUntil: number;
  /** The parts that contain the part being placed, outermost first. */
  readonly open: TracePart[];
  /** The time at which the next part can begin, in microseconds. */
  cursor: number;
}

const microseconds = 1000;

/**
 * Places a part on the lane of the part that contains it, unless it overlaps another part there. Otherwise, places it on the first
 * free lane, because viewers need parts on one lane to follow or contain each other.
 *
 * `startedAt` is the start of the trace in milliseconds. A part lasts at least 1 microsecond, because viewers misplace parts
 * without a duration. The part that follows may therefore start a few microseconds late.
 */
function layOutParts(parts: readonly TracePart[], startedAt: number): readonly PlacedPart[] {
  const lanes: Lane[] = [];
  const placed: PlacedPart[] = [];

  const addLane = (): number => lanes.push({ busyUntil: 0, open: [], cursor: 0 }) - 1;
  // A lane with open parts is not free, because a new part would appear to be inside them.
  const isFree = ({ busyUntil, open }: Lane, { from }: TracePart): boolean => busyUntil <= from && open.length === 0;
  const choose = (part: TracePart, own: number | undefined): number => {
    const lane = own === undefined ? undefined : lanes[own];
    if (own !== undefined && lane !== undefined && lane.busyUntil <= part.from && isWithin(part, lane.open.at(-1))) return own;
    const free = lanes.findIndex((one) => isFree(one, part));
    return free === -1 ? addLane() : free;
  };
  const place = (part: TracePart, own: number | undefined): void => {
    const number = choose(part, own);
    const lane = lanes[number];
    if (lane === undefined) return;
    const ts = Math.max((part.from - startedAt) * microseconds, lane.cursor);
    lane.cursor = ts;
    lane.open.push(part);
    const index = placed.push({ part, lane: number, ts, dur: 0 }) - 1;
    placeAll(part.parts, number);
    const end = Math.max((part.to - startedAt) * microseconds, lane.cursor, ts + 1);
    placed[index] = { part, lane: number, ts, dur: end - ts };
    lane.open.pop();
    lane.cursor = end;
    lane.busyUntil = Math.max(lane.busyUntil, part.to);
  };
  const placeAll = (siblings: readonly TracePart[], own: number | undefined): void => {
    for (const part of siblings.toSorted((one, other) => one.from - other.from)) place(part, own);
  };

  placeAll(parts, undefined);
  return placed;
}

function isWithin(part: TracePart, outer: TracePart | undefined): boolean {
  return outer !== undefined && part.from >= outer.from && part.to <= outer.to;
}
