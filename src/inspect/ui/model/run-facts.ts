// Reads a run's log lines: what the page shows between the streams, and facts about calls that `LoggedCall` lacks.

import { isSameJson } from "../../../shared/json.ts";
import type { Json } from "../../../core/index.ts";
import type { LoggedCall, LoggedIteration, LoggedLine, LoggedRun } from "../../../shared/run-log.ts";
import { lookUp, wordOf } from "./format-value.ts";

export interface StreamFacts {
  /** The stream's key within its run: i3, and i3.2 for the second stream of iteration 3. */
  readonly key: string;
  readonly label: string;
  readonly title: string;
  readonly iteration: LoggedIteration;
  /** The last stream before this one that sent a request. */
  readonly previous: LoggedIteration | undefined;
  /** The lines before the stream's output. `after` contains the lines that follow it. */
  readonly before: LoggedLine[];
  readonly after: LoggedLine[];
}

export interface CallFacts {
  /** The periods in which the call was working. `to` is undefined if the log does not have the end. */
  readonly work: { readonly from: number; to: number | undefined }[];
  decision?: LoggedLine | undefined;
  /** The result that the model read, if it differs from the tool's result. */
  sent?: Json | undefined;
  /** The first iteration whose request no longer contains the result, if it was cleared. */
  clearedBy?: number | undefined;
  /** The lines about changes to the result, or about a result that came too late. */
  readonly changes: LoggedLine[];
}

export interface RunFacts {
  readonly streams: readonly StreamFacts[];
  /** The lines before the first stream. */
  readonly first: readonly LoggedLine[];
  readonly calls: ReadonlyMap<LoggedCall, CallFacts>;
  /** The time of the last line. A stream, call or wait without an end is shown up to this time. */
  readonly lastAt: number;
}

interface Reading {
  readonly run: LoggedRun;
  readonly streams: StreamFacts[];
  readonly first: LoggedLine[];
  readonly calls: Map<LoggedCall, CallFacts>;
  readonly byId: Map<string, LoggedCall>;
  readonly counts: Map<number, number>;
  previous: LoggedIteration | undefined;
  hasOutput: boolean;
}

type ReadLine = (reading: Reading, line: LoggedLine) => void;

const nothing: ReadLine = () => undefined;

const ofCall =
  (read: (facts: CallFacts, line: LoggedLine) => void): ReadLine =>
  (reading, line) => {
    const facts = factsOf(reading, line["callId"]);
    if (facts === undefined) addNote(reading, line);
    else read(facts, line);
  };

const addChange = ofCall((facts, line) => void facts.changes.push(line));

/** Functions that read lines, by line type. Lines of other types become notes. */
const readers: { readonly [type: string]: ReadLine | undefined } = {
  "iteration-start": startStream,
  "iteration-end": nothing,
  request: (reading, { at }) => {
    const stream = reading.streams.at(-1);
    if (stream?.iteration.request?.at === at) readResults(reading, stream.iteration);
  },
  output: (reading) => {
    reading.hasOutput = true;
  },
  "first-token": nothing,
  "attempt-start": nothing,
  "attempt-discarded": (reading, line) => (line["attempt"] === undefined ? addNote(reading, line) : undefined),
  "tool-start": ofCall((facts, { at }) => void facts.work.push({ from: at, to: undefined })),
  // The page finds cache breaks itself, because a log contains these lines only if the run watched its cache.
  "cache-break": nothing,
  "tool-progress": nothing,
  "tool-emit": nothing,
  "tool-end": ofCall((facts, { at }) => {
    const last = facts.work.at(-1);
    // A refused call never started, so the page marks the time of its refusal.
    if (last === undefined) facts.work.push({ from: at, to: at });
    else last.to ??= at;
  }),
  "approval-asked": nothing,
  "approval-decided": ofCall((facts, line) => {
    facts.decision = line;
  }),
  masked: (reading, line) => {
    for (const callId of Array.isArray(line["calls"]) ? line["calls"] : []) {
      const facts = factsOf(reading, callId as Json);
      if (facts !== undefined) facts.clearedBy = Number(line["iteration"]);
    }
    addNote(reading, line);
  },
  "result-processed": addChange,
  "result-extracted": addChange,
  "result-cached": addChange,
  "late-result": addChange,
  "run-start": (reading, line) => (line.at === reading.run.startedAt ? undefined : addNote(reading, line)),
  "run-end": (reading, line) => (line === reading.run.lines.at(-1) ? undefined : addNote(reading, line)),
  "run-error": (reading, line) => (line === reading.run.lines.at(-1) ? undefined : addNote(reading, line)),
};

export function readRunFacts(run: LoggedRun): RunFacts {
  const reading: Reading = {
    run,
    streams: [],
    first: [],
    calls: new Map(),
    byId: new Map(),
    counts: new Map(),
    previous: undefined,
    hasOutput: false,
  };
  for (const line of run.lines) (lookUp(readers, line.type) ?? addNote)(reading, line);
  const { streams, first, calls } = reading;
  return { streams, first, calls, lastAt: run.lines.at(-1)?.at ?? run.startedAt };
}

/** Moves to the next stream. The log reader has created one iteration for each line of this type, in the same order. */
function startStream(reading: Reading): void {
  const { run, streams, counts, calls, byId } = reading;
  const iteration = run.iterations[streams.length];
  if (iteration === undefined) return;
  const count = (counts.get(iteration.iteration) ?? 0) + 1;
  counts.set(iteration.iteration, count);
  const label = `i${iteration.iteration}`;
  const repeat = iteration.continuation > 0 ? "continued" : "repeated";
  streams.push({
    key: count === 1 ? label : `${label}.${count}`,
    label: count === 1 ? label : `${label}.${count}`,
    title: `Iteration ${iteration.iteration}${count === 1 ? "" : `, ${repeat}`}${iteration.agent === undefined ? "" : `, ${iteration.agent}`}`,
    iteration,
    previous: reading.previous,
    before: [],
    after: [],
  });
  for (const call of iteration.calls) {
    byId.set(call.callId, call);
    calls.set(call, { work: [], changes: [] });
  }
  if (iteration.request !== undefined) reading.previous = iteration;
  reading.hasOutput = false;
}

function factsOf({ byId, calls }: Reading, callId: Json | undefined): CallFacts | undefined {
  const call = byId.get(wordOf(callId));
  return call && calls.get(call);
}

function addNote({ streams, first, hasOutput }: Reading, line: LoggedLine): void {
  const stream = streams.at(-1);
  const list = stream === undefined ? first : hasOutput ? stream.after : stream.before;
  list.push(line);
}

/** Finds results that the model read in a different form, for example because they were too long. */
function readResults({ byId, calls }: Reading, { request }: LoggedIteration): void {
  for (const message of request?.added ?? []) {
    if (message.role !== "tool") continue;
    for (const { callId, result } of message.results) {
      const call = byId.get(callId);
      const facts = call && calls.get(call);
      if (call?.result === undefined || facts === undefined || call.outcome !== "completed") continue;
      if (!isSameJson(call.result, result)) facts.sent = result;
    }
  }
}

export function streamEnd({ output, startedAt, durationMs, endedAt, calls }: LoggedIteration, lastAt: number): number {
  if (output !== undefined) return output.at;
  if (durationMs !== undefined) return startedAt + durationMs;
  return endedAt ?? calls[0]?.startedAt ?? lastAt;
}
