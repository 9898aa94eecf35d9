// Assertions and time limits for the conformance suites, which work with any test runner.

import { addUsage } from "../shared/count-usage.ts";
import { type Check, checkFields, invalidOption, is } from "../core/kit.ts";
import type { Clock, Json, ModelChunk, Usage } from "../core/index.ts";
import { withinTime } from "../shared/repeat-failed.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { stableJson } from "../shared/json.ts";

interface CallReading {
  readonly key: string;
  readonly id: string | undefined;
  readonly name: string;
  readonly args: unknown;
  readonly problem: string | undefined;
  readonly streamedArgs: string;
}

export interface Reading {
  readonly chunks: readonly ModelChunk[];
  readonly failure?: { readonly error: unknown } | undefined;
}

export async function readStream(open: () => AsyncIterable<ModelChunk>): Promise<Reading> {
  const chunks: ModelChunk[] = [];
  try {
    for await (const chunk of open()) chunks.push(chunk);
  } catch (error) {
    return { chunks, failure: { error } };
  }
  const reported = selectChunks(chunks, "error")[0];
  return { chunks, failure: reported === undefined ? undefined : { error: reported.error } };
}

function selectChunks<Type extends ModelChunk["type"]>(
  chunks: readonly ModelChunk[],
  type: Type,
): Extract<ModelChunk, { type: Type }>[] {
  return chunks.filter((chunk): chunk is Extract<ModelChunk, { type: Type }> => chunk.type === type);
}

export function textOf({ chunks }: Reading): string {
  return selectChunks(chunks, "text-delta")
    .map((chunk) => chunk.text)
    .join("");
}

export function callsOf({ chunks }: Reading): CallReading[] {
  const deltas = selectChunks(chunks, "call-args-delta");
  return selectChunks(chunks, "call-ready").map(({ key, id, name, args, problem }) => {
    const streamedArgs = deltas
      .filter((delta) => delta.key === key)
      .map((delta) => delta.text)
      .join("");
    return { key, id, name, args, problem, streamedArgs };
  });
}

export function metadataOf({ chunks }: Reading): Json[] {
  return selectChunks(chunks, "provider-metadata").map((chunk) => chunk.item);
}

export function usageOf({ chunks }: Reading): Usage | undefined {
  let total: Usage | undefined;
  for (const { usage, mode } of selectChunks(chunks, "usage"))
    total = mode === "snapshot" || total === undefined ? usage : addUsage(total, usage);
  return total;
}

export function checkFinished(reading: Reading): string {
  const { chunks, failure } = reading;
  check(failure === undefined, `The stream failed: ${toPlainError(failure?.error).message}`);
  const finishes = selectChunks(chunks, "finish");
  check(finishes.length === 1, `The stream must have exactly one "finish" chunk, but has ${finishes.length}.`);
  const last = chunks.at(-1);
  check(last?.type === "finish", `The stream must end with its "finish" chunk, but ends with "${last?.type}".`);
  return last.reason;
}

/** One check in a suite. `run` resolves if the check passes. Otherwise it rejects with an Error that describes the failure. */
export interface SuiteCheck {
  /** Describes the checked behavior, for a test title. Unique in its suite. */
  readonly title: string;
  run(): Promise<void>;
}

/** Limits the time of each step of a check. */
export interface Patience {
  /** The clock for the time limit. Default: the platform's clock. */
  readonly clock?: Clock | undefined;
  /** The maximum time for one step of a check, in milliseconds. Default 2,000. */
  readonly withinMs?: number | undefined;
}

export const duration: Check = ["a number of milliseconds above 0", (value) => typeof value === "number" && value > 0];

/** Checks a suite's setup. `needed` is the name of a required function, and `more` contains the checks for optional fields. */
export function checkSetup(setup: Patience, needed: string, more: { readonly [field: string]: Check } = {}): void {
  checkFields("setup", setup, { [needed]: is.fn, clock: is.object, withinMs: duration, ...more });
  if (Reflect.get(setup, needed) === undefined) throw invalidOption(`setup.${needed}`, is.fn[0], undefined);
}

export function check(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

export function within<T>(work: PromiseLike<T>, complaint: string, { clock, withinMs: ms = 2_000 }: Patience): Promise<T> {
  return withinTime(work, { ms, clock, toError: () => new Error(`${complaint} within ${ms} ms.`) });
}

export function checkSame(actual: unknown, expected: unknown, what: string): void {
  const [is, must] = [stableJson(actual), stableJson(expected)];
  check(is === must, `${what} must be ${must}, but is ${is}.`);
}

export function checkDistinct(names: readonly string[], what: string): void {
  check(
    new Set(names).size === names.length,
    `The calls of a message must have different ${what}s, but have ${names.join(", ")}.`,
  );
}

export function checkUnfinished({ chunks }: Reading): void {
  check(
    selectChunks(chunks, "finish").length === 0,
    'The stream must not have a "finish" chunk, because the model did not finish.',
  );
}
