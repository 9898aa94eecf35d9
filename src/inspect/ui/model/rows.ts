// Builds the timeline's rows. Each is a stream, summary, attempt or call of a run or its nested runs.

import type { LoggedCall, LoggedCompaction, LoggedIteration, LoggedWait } from "../../../shared/run-log.ts";
import { stepsOf } from "../../analysis/run-totals.ts";
import { longWaitsOf, waitNames } from "../../analysis/waits.ts";
import { describeTokens, outcomeOf } from "./describe-line.ts";
import type { RunTree } from "./entries.ts";
import { type CallFacts, streamEnd, type StreamFacts } from "./run-facts.ts";
import type { Tone } from "./describe-ending.ts";

/** "first" is the time to the first token, and "lost" is a discarded attempt. */
export type SegmentKind = "first" | "stream" | "lost" | "tool" | "nested" | LoggedWait["kind"];

interface Segment {
  readonly kind: SegmentKind;
  readonly from: number;
  readonly to: number;
}

export interface Row {
  readonly key: string;
  /** The key of the transcript entry that shows the row. */
  readonly entryKey: string;
  readonly parents: readonly string[];
  readonly kind: "stream" | "compaction" | "attempt" | "call" | "nested";
  readonly label: string;
  readonly note: string;
  /** The whole text, if `note` is only its first part. */
  readonly wholeNote?: string | undefined;
  readonly tone: Tone;
  readonly segments: readonly Segment[];
  /** The logged duration in milliseconds. If there is none, the total time of the segments, excluding waits. */
  readonly ms: number | undefined;
  /** The segments of the rows inside this row. A folded row shows these segments. */
  readonly inner: readonly Segment[];
  readonly canFold: boolean;
}

/**
 * True if the model or a tool worked in this segment. False for a wait, and for a nested run, because it has its own rows and may include
 * waits.
 */
export function isWork({ kind }: Segment): boolean {
  return !Object.hasOwn(waitNames, kind) && kind !== "nested";
}

/** Adds up the durations of the segments, excluding waits, in milliseconds. A nested run counts in full, including its waits. */
function workMs(segments: readonly Segment[]): number | undefined {
  const work = segments.filter((segment) => isWork(segment) || segment.kind === "nested");
  return work.length === 0 ? undefined : work.reduce((sum, { from, to }) => sum + to - from, 0);
}

/** Calls with nested runs are folded at first. All other rows are open. */
export function isOpenAtFirst(key: string): boolean {
  return !/tool\/\d+$/.test(key);
}

/** Returns the rows of a tree. `isLive` is true if its log may grow. `parents` are the keys of the rows around the tree. */
export function buildRows(tree: RunTree, isLive = false, parents: readonly string[] = []): readonly Row[] {
  const { run, facts } = tree;
  const steps = stepsOf(run);
  const running = isLive && run.status === undefined && run.error === undefined ? steps.at(-1) : undefined;
  const streams = new Map(facts.streams.map((stream) => [stream.iteration, stream]));
  const notes = tree.entries.filter(
    ({ run: own, content }) => own === run && content.kind === "note" && content.line.type === "compaction-start",
  );
  return steps.flatMap((step): readonly Row[] => {
    const isRunning = step === running;
    if (!("calls" in step)) {
      const { key = "" } = notes.shift() ?? {};
      return [toCompactionRow(step, { key, parents, lastAt: facts.lastAt, isRunning })];
    }
    const stream = streams.get(step);
    return stream === undefined ? [] : rowsOfStream(stream, { tree, parents, isLive, isRunning });
  });
}

interface TreePlace {
  readonly tree: RunTree;
  readonly parents: readonly string[];
  readonly isLive: boolean;
  readonly isRunning: boolean;
}

function rowsOfStream(stream: StreamFacts, { tree, parents, isLive, isRunning }: TreePlace): readonly Row[] {
  const { place, facts, nested } = tree;
  const key = `${place.prefix}${stream.key}`;
  const { iteration } = stream;
  const inStream = [...parents, key];
  const calls = iteration.calls.map((call) => {
    const segments = segmentsOfCall(call, { stream, facts: facts.calls.get(call), lastAt: facts.lastAt });
    return { call, key: `${key}/tool/${call.index}`, segments };
  });
  const inner = calls.flatMap(({ segments }) => segments);
  const rows = [toStreamRow(stream, { key, parents, lastAt: facts.lastAt, inner, isRunning })];
  if (iteration.attempts.length > 1) rows.push(...attemptRows(iteration, { key, parents: inStream, lastAt: facts.lastAt }));
  for (const { call, key: callKey, segments } of calls) {
    const trees = nested.get(callKey) ?? [];
    rows.push(toCallRow(call, { key: callKey, parents: inStream, segments, stream, canFold: trees.length > 0 }));
    const inCall = { parents: [...inStream, callKey], count: trees.length, isLive };
    for (const nestedTree of trees) rows.push(...rowsOfNested(nestedTree, inCall));
  }
  return rows;
}

interface NestedPlace {
  readonly parents: readonly string[];
  readonly count: number;
  readonly isLive: boolean;
}

function rowsOfNested(tree: RunTree, { parents, count, isLive }: NestedPlace): readonly Row[] {
  if (count === 1) return buildRows(tree, isLive, parents);
  const key = `${tree.place.prefix}run`;
  const { run, facts } = tree;
  const segments: Segment[] = [{ kind: "nested", from: run.startedAt, to: run.endedAt ?? facts.lastAt }];
  const tone = run.status === undefined || run.status === "completed" ? "plain" : "bad";
  const label = run.model;
  const row: Row = {
    key,
    entryKey: key,
    parents,
    kind: "nested",
    label,
    note: "",
    tone,
    segments,
    ms: workMs(segments),
    inner: [],
    canFold: true,
  };
  return [row, ...buildRows(tree, isLive, [...parents, key])];
}

function toCompactionRow(
  { startedAt, endedAt, outcome, tokensBefore, tokensAfter }: LoggedCompaction,
  { key, parents, lastAt, isRunning }: StreamPlace & Pick<StreamRow, "isRunning">,
): Row {
  const note =
    endedAt === undefined
      ? isRunning
        ? "running"
        : "not ended"
      : outcome === "compacted"
        ? describeTokens(tokensBefore, tokensAfter)
        : "failed";
  const segments: readonly Segment[] = [{ kind: "stream", from: startedAt, to: endedAt ?? lastAt }];
  const more = { tone: "plain" as const, segments, ms: workMs(segments), inner: [], canFold: false };
  return { key, entryKey: key, parents, kind: "compaction", label: "compaction", note, ...more };
}

interface StreamPlace {
  readonly key: string;
  readonly parents: readonly string[];
  readonly lastAt: number;
}

interface StreamRow extends StreamPlace {
  readonly inner: readonly Segment[];
  readonly isRunning: boolean;
}

function toStreamRow(stream: StreamFacts, { inner, isRunning, ...place }: StreamRow): Row {
  const { iteration, label } = stream;
  const { status, calls } = iteration;
  const failed = status === "error" || status === "timeout";
  const segments = segmentsOfStream(iteration, place.lastAt);
  return {
    key: place.key,
    entryKey: place.key,
    parents: place.parents,
    kind: "stream",
    label,
    note: failed
      ? status
      : status === undefined && iteration.endedAt === undefined
        ? isRunning
          ? "running"
          : "not ended"
        : (iteration.agent ?? ""),
    tone: failed ? "bad" : "plain",
    segments,
    ms: iteration.durationMs ?? workMs(segments),
    inner,
    canFold: calls.length > 0 || iteration.attempts.length > 1,
  };
}

function segmentsOfStream(iteration: LoggedIteration, lastAt: number): readonly Segment[] {
  const { attempts } = iteration;
  const retries = longWaitsOf(iteration).map((wait) => toSegment(wait, lastAt));
  const lost = attempts.flatMap(({ startedAt, discardedAt }): Segment[] =>
    discardedAt === undefined ? [] : [{ kind: "lost", from: startedAt, to: discardedAt }],
  );
  return [...lost, ...retries, ...lastAttempt(iteration, lastAt)];
}

/** Returns the time to the first token and the time after it, for the attempt that was not discarded. */
function lastAttempt(iteration: LoggedIteration, lastAt: number): readonly Segment[] {
  const last = iteration.attempts.at(-1);
  if (last?.discardedAt !== undefined) return [];
  const from = last?.startedAt ?? iteration.startedAt;
  const to = Math.max(from, streamEnd(iteration, lastAt));
  const { firstToken } = iteration;
  if (firstToken === undefined || firstToken.at < from) return [{ kind: "first", from, to }];
  const first = Math.min(firstToken.at, to);
  return [
    { kind: "first", from, to: first },
    { kind: "stream", from: first, to },
  ];
}

function toSegment({ kind, from, to }: LoggedWait, lastAt: number): Segment {
  return { kind, from, to: to ?? Math.max(from, lastAt) };
}

function attemptRows(iteration: LoggedIteration, { key, parents, lastAt }: StreamPlace): readonly Row[] {
  return iteration.attempts.map(({ attempt, provider, model, startedAt, discardedAt, error }) => {
    const lost = discardedAt === undefined ? undefined : [{ kind: "lost", from: startedAt, to: discardedAt } as const];
    const segments = lost ?? lastAttempt(iteration, lastAt);
    return {
      key: `${key}/attempt/${attempt}`,
      entryKey: key,
      parents,
      kind: "attempt",
      label: `attempt ${attempt}`,
      note: error?.code ?? (iteration.attempts.some((other) => other.model !== model) ? `${provider} ${model}` : ""),
      tone: discardedAt === undefined ? "plain" : "warn",
      segments,
      ms: workMs(segments),
      inner: [],
      canFold: false,
    };
  });
}

interface CallPlace {
  readonly stream: StreamFacts;
  readonly facts: CallFacts | undefined;
  readonly lastAt: number;
}

function segmentsOfCall(call: LoggedCall, { stream, facts, lastAt }: CallPlace): readonly Segment[] {
  const waiting = longWaitsOf(stream.iteration, call.callId).map((wait) => toSegment(wait, lastAt));
  const kind = call.runs.length > 0 ? "nested" : "tool";
  const work = (facts?.work ?? []).map(({ from, to = lastAt }): Segment => ({ kind, from, to }));
  return [...waiting, ...work];
}

interface CallRow extends Pick<Row, "key" | "parents" | "segments" | "canFold"> {
  readonly stream: StreamFacts;
}

function toCallRow(call: LoggedCall, { stream, ...row }: CallRow): Row {
  const { text, tone } = outcomeOf(call, stream.iteration);
  // A call may succeed even if its nested run failed, because its result is then a report. The note names the failure.
  const failed = call.runs.findLast(({ status = "completed" }) => status !== "completed")?.status;
  const wholeNote = tone === "ok" ? failed : text;
  return {
    ...row,
    entryKey: row.key,
    ms: call.durationMs ?? workMs(row.segments),
    kind: "call",
    label: call.name,
    note: wholeNote?.split(",")[0] ?? "",
    wholeNote,
    tone: tone !== "ok" ? tone : failed ? "warn" : "plain",
    inner: [],
  };
}
