// Builds the lines of a run log. To continue an existing log, first reads the state it needs from that log.

import type { Json } from "../../core/index.ts";
import { listOf, textOf } from "../../core/kit.ts";
import type { LogLine } from "./parse-line.ts";
import { measure, SharedValues, type Writable } from "./shared-values.ts";

/** A message in the newest request. `source` is the message object while the run is live. */
export interface SentMessage {
  readonly key: string;
  source?: object | undefined;
}

export interface KnownRun {
  readonly number: number;
  sent: readonly SentMessage[];
  /** How many lines the log contains about each step. A resumed run uses these numbers to skip replayed steps that are already in the log. */
  readonly written: Map<string, number>;
}

export interface LogState {
  readonly values: SharedValues;
  readonly runs: Map<string, KnownRun>;
  readonly byNumber: KnownRun[];
}

export function createLogState(): LogState {
  return { values: new SharedValues(), runs: new Map(), byNumber: [] };
}

export type LogFields = { readonly [field: string]: Writable | undefined };

export function stepOf(type: string, { iteration, continuation, callId, outcome }: LogFields): string {
  return JSON.stringify([type, iteration, continuation, callId, outcome]);
}

export function runKey(runId: string, path: readonly string[]): string {
  return JSON.stringify([runId, ...path]);
}

export function findRun({ runs, byNumber }: LogState, key: string): KnownRun {
  const known = runs.get(key);
  if (known !== undefined) return known;
  const added: KnownRun = { number: byNumber.length, sent: [], written: new Map() };
  runs.set(key, added);
  byNumber.push(added);
  return added;
}

export function noteLine(run: KnownRun, type: string, fields: LogFields): void {
  const step = stepOf(type, fields);
  run.written.set(step, (run.written.get(step) ?? 0) + 1);
}

/** Fields that contain short ids and constants. Their values are never numbered. */
const idFields: ReadonlySet<string> = new Set([
  "runId",
  "path",
  "callId",
  "name",
  "provider",
  "model",
  "status",
  "outcome",
  "kind",
]);

export function toLine(values: SharedValues, fields: LogFields): string {
  const written = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined) return [];
    const text = idFields.has(name) ? JSON.stringify(value) : values.toText(measure(value));
    return [`${JSON.stringify(name)}:${text}`];
  });
  return `{${written.join(",")}}\n`;
}

/** Adds a line of an existing log to the state: its numbered values, its run, and a request's messages. */
export function learnLine(state: LogState, line: LogLine): void {
  const { type, run: number } = line;
  if (type === "log") return;
  if (type === "run-start") learnRun(state, line);
  for (const [name, value] of Object.entries(line)) if (!isLearnedLater(type, name)) state.values.learn(value);
  const run = state.byNumber[Number(number)];
  if (run === undefined) throw new TypeError("is about a run without a run-start line");
  noteLine(run, type, line);
  if (type === "request") learnRequest(state, run, line);
}

function isLearnedLater(type: string, name: string): boolean {
  return idFields.has(name) || (type === "request" && (name === "replace" || name === "add"));
}

function learnRun(state: LogState, { runId, path, run }: LogLine): void {
  const ids = listOf(path).map(textOf);
  if (findRun(state, runKey(textOf(runId), ids)).number !== run) throw new TypeError("has the wrong run number");
}

function learnRequest({ values }: LogState, run: KnownRun, { keep, replace, add }: LogLine): void {
  const keyOf = (message: Json): SentMessage => ({ key: values.learn(message).key });
  const sent = run.sent.slice(0, Number(keep));
  for (const [index, message] of listOf(replace) as readonly [number, Json][]) sent[index] = keyOf(message);
  for (const message of listOf(add) as readonly Json[]) sent.push(keyOf(message));
  run.sent = sent;
}
