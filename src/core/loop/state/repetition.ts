// Finds repeated texts and identical calls.

import type { ContentPart } from "../../types/common.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { digest, isSameJson, stableJson } from "../../utils/json.ts";
import type { ToolResultPart } from "../../types/message.ts";

/** What is looked at of a settled call. */
interface Settled {
  readonly outcome: ToolOutcome;
  readonly awaiting?: string | undefined;
  readonly suspended?: object | undefined;
}

/** The calls of the last iteration, and how many iterations in a row have been equal to it. */
export interface IdenticalCalls {
  readonly outcomes: readonly ToolOutcome[];
  /** 0 if one of the calls did not succeed. */
  readonly count: number;
}

/** Before the first iteration, and after one without calls. */
export const noIdenticalCalls: IdenticalCalls = { outcomes: [], count: 0 };

/** Counts one more iteration. One whose calls still wait is counted when it is over. */
export function countIdenticalCalls(last: IdenticalCalls, settled: readonly Settled[]): IdenticalCalls {
  if (settled.some(({ awaiting, suspended }) => awaiting !== undefined || suspended !== undefined)) return last;
  if (settled.length === 0 || settled.some(({ outcome }) => outcome.kind !== "completed")) return noIdenticalCalls;
  const outcomes = settled.map(({ outcome }) => outcome);
  const isSame =
    outcomes.length === last.outcomes.length &&
    outcomes.every((outcome, index) => isSameCall(outcome, last.outcomes[index])) &&
    outcomes.every((outcome, index) => isSameResult(outcome, last.outcomes[index]));
  return { outcomes, count: isSame ? last.count + 1 : 1 };
}

function isSameCall({ call }: ToolOutcome, other: ToolOutcome | undefined): boolean {
  return other !== undefined && call.name === other.call.name && isSameJson(call.args, other.call.args);
}

function isSameResult(one: ToolOutcome, other: ToolOutcome | undefined): boolean {
  if (one.kind !== "completed" || other?.kind !== "completed") return false;
  return isSameJson(one.data, other.data) && isSameContent(one.content, other.content);
}

function isSameContent(one: readonly ContentPart[] = [], other: readonly ContentPart[] = []): boolean {
  return isSameJson(one.map(toFacts), other.map(toFacts));
}

function toFacts(part: ContentPart): readonly string[] {
  return part.type === "text" ? [part.type, part.text] : [part.type, part.mediaType, String(part.data)];
}

/** The calls of one iteration, and what they gave where that is compared, each as a digest. */
export interface CountedIteration {
  readonly calls: string;
  readonly results: string | undefined;
}

/** What is known of the last iterations. */
export interface Repetition {
  /** The most iterations that one cycle may have. */
  readonly maxCycle: number;
  /** Whether iterations with other results are other iterations. */
  readonly compareResults: boolean;
  /** The last iterations, newest first: one more than the longest cycle has. */
  readonly iterations: readonly CountedIteration[];
  /** At index `n - 1`: how many iterations in a row, up to the last one, equal the iteration `n` before them. */
  readonly matches: readonly number[];
}

/** How often a cycle has come. */
export interface Repeats {
  /** How many iterations the cycle has. */
  readonly cycle: number;
  readonly count: number;
}

/** Begins to count. */
export function createRepetition({ maxCycle, compareResults }: Pick<Repetition, "maxCycle" | "compareResults">): Repetition {
  return { maxCycle, compareResults, iterations: [], matches: Array.from({ length: maxCycle }, () => 0) };
}

/** Counts one more iteration. The order of its calls, and of the keys of their arguments, says nothing. One without calls begins anew. */
export function countIteration(repetition: Repetition, calls: readonly ToolCall[]): Repetition {
  if (calls.length === 0) return createRepetition(repetition);
  const { maxCycle, iterations, matches } = repetition;
  const iteration: CountedIteration = { calls: digestOf(calls.map(describeCall)), results: undefined };
  return {
    ...repetition,
    iterations: [iteration, ...iterations].slice(0, maxCycle + 1),
    matches: matches.map((count, index) => (iterations[index]?.calls === iteration.calls ? count + 1 : 0)),
  };
}

/** Notes what the calls of the last iteration gave. Where that differs from an iteration before, the two are not the same. */
export function noteResults(repetition: Repetition, calls: readonly ToolCall[], results: readonly ToolResultPart[]): Repetition {
  const [last, ...earlier] = repetition.iterations;
  if (last === undefined || !repetition.compareResults) return repetition;
  const lines = calls.map((call, index) => `${digest(describeCall(call))} ${digest(describeResult(results[index]))}`);
  const noted: CountedIteration = { ...last, results: digestOf(lines) };
  const matches = repetition.matches.map((count, index) => (earlier[index]?.results === noted.results ? count : 0));
  return { ...repetition, iterations: [noted, ...earlier], matches };
}

/**
 * The shortest cycle that the last iteration has completed for the `threshold`th time, or for a multiple of that. A cycle that is itself made
 * of a shorter one is not told again: A A A A are four times A, and not twice A A.
 */
export function findRepeats({ matches }: Repetition, threshold: number): Repeats | undefined {
  for (const [index, matched] of matches.entries()) {
    const cycle = index + 1;
    const count = matched / cycle + 1;
    if (matched > 0 && count % threshold === 0 && !isMadeOfShorter(matches, { cycle, count })) return { cycle, count };
  }
  return undefined;
}

function isMadeOfShorter(matches: readonly number[], { cycle, count }: Repeats): boolean {
  return matches.some((matched, index) => {
    const shorter = index + 1;
    return shorter < cycle && cycle % shorter === 0 && matched >= count * cycle - shorter;
  });
}

/** What came broken is told apart by its text, for its arguments are empty. */
function describeCall({ name, args, argsText, problem }: ToolCall): string {
  return stableJson(problem === undefined ? [name, args] : [name, problem, argsText ?? ""]);
}

function describeResult(result: ToolResultPart | undefined): string {
  return stableJson(result === undefined ? null : [result.outcome, result.result, result.content ?? null]);
}

/** Each line is digested by itself: together they may be longer than a string can be. */
function digestOf(lines: readonly string[]): string {
  return digest(lines.map(digest).sort().join("\n"));
}
