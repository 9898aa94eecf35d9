// Counts how often a model repeats an iteration or a sequence of iterations.

import type { ToolResultPart } from "../types/message.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import { digest, stableJson } from "../../shared/json.ts";

interface CountedIteration {
  readonly calls: string;
  readonly results: string | undefined;
}

interface Counts {
  /** The newest iterations, newest first. Contains at most one more iteration than the longest cycle that is detected. */
  readonly iterations: readonly CountedIteration[];
  /**
   * Element `n - 1` is for cycles of `n` iterations. From the newest iteration backwards, each iteration is compared with the
   * iteration `n` positions before it. The element counts the equal pairs before the first difference. For example, after the
   * iterations A B A B, the element with index 1 is 2.
   */
  readonly matches: readonly number[];
}

interface LastMessage {
  readonly counts: Counts;
  readonly weight: number;
}

function noCounts({ maxCycle }: CycleRules): Counts {
  return { iterations: [], matches: Array.from({ length: maxCycle }, () => 0) };
}

export interface CycleRules {
  readonly maxCycle: number;
  readonly compareResults: boolean;
}

/** A sequence of `cycle` iterations that occurred `count` times. */
export interface Repeats {
  readonly cycle: number;
  readonly count: number;
}

/** The number of repetitions so far. Immutable: each change returns a new object. */
export class CycleCounts {
  readonly #rules: CycleRules;
  readonly #counts: Counts;
  /** The counts before the newest message, and how many times that message was counted. */
  readonly #last: LastMessage;

  constructor(rules: CycleRules, counts: Counts = noCounts(rules), last: LastMessage = { counts, weight: 0 }) {
    this.#rules = rules;
    this.#counts = counts;
    this.#last = last;
  }

  get iterations(): readonly CountedIteration[] {
    return this.#counts.iterations;
  }

  restart(): CycleCounts {
    return new CycleCounts(this.#rules);
  }

  countCalls(calls: readonly ToolCall[]): CycleCounts {
    if (calls.length === 0) return this.restart();
    const { distinct, most } = groupEqual(calls.map((call) => digest(describeCall(call))));
    return this.#count(this.#counts, { calls: digestOf(distinct), results: undefined }, most);
  }

  noteResults(calls: readonly ToolCall[], results: readonly (ToolResultPart | undefined)[]): CycleCounts {
    const [last] = this.iterations;
    if (last === undefined || !this.#rules.compareResults) return this;
    const lines = calls.map((call, index) => `${digest(describeCall(call))} ${digest(describeResult(results[index]))}`);
    const { distinct, most } = groupEqual(lines);
    return this.#count(this.#last.counts, { ...last, results: digestOf(distinct) }, Math.min(most, this.#last.weight));
  }

  #count(before: Counts, iteration: CountedIteration, weight: number): CycleCounts {
    let { iterations, matches } = before;
    for (let copy = 0; copy < weight; copy += 1) {
      iterations = [iteration, ...iterations].slice(0, this.#rules.maxCycle + 1);
      matches = matches.map((count, index) => (isSame(iteration, iterations[index + 1]) ? count + 1 : 0));
    }
    return new CycleCounts(this.#rules, { iterations, matches }, { counts: before, weight });
  }

  repeats(cycle: number): boolean {
    return this.#counts.matches[cycle - 1] !== 0;
  }

  findRepeats(threshold: number): Repeats | undefined {
    for (const [index, matched] of this.#counts.matches.entries()) {
      const cycle = index + 1;
      const count = Math.floor(matched / cycle) + 1;
      // One message can raise the count by more than one and skip the exact threshold, so the code compares how many multiples of it were
      // passed.
      const earlier = Math.floor((matched - this.#last.weight) / cycle) + 1;
      const isReached = Math.floor(count / threshold) > Math.floor(earlier / threshold);
      if (matched > 0 && isReached && !this.#isMadeOfShorter({ cycle, count })) return { cycle, count };
    }
    return undefined;
  }

  #isMadeOfShorter({ cycle, count }: Repeats): boolean {
    return this.#counts.matches.some((matched, index) => {
      const shorter = index + 1;
      return shorter < cycle && cycle % shorter === 0 && matched >= count * cycle - shorter;
    });
  }
}

function isSame(one: CountedIteration, other: CountedIteration | undefined): boolean {
  if (other === undefined || one.calls !== other.calls) return false;
  return one.results === undefined || other.results === undefined || one.results === other.results;
}

/** Returns the distinct strings, and how many times the most frequent one occurs. */
function groupEqual(texts: readonly string[]): { readonly distinct: readonly string[]; readonly most: number } {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return { distinct: [...counts.keys()], most: Math.max(...counts.values()) };
}

/** Describes a call for comparison. Calls with invalid arguments are compared by `argsText`, because their `args` is always `{}`. */
function describeCall({ name, args, argsText, problem }: ToolCall): string {
  return stableJson(problem === undefined ? [name, args] : [name, problem, argsText ?? ""]);
}

function describeResult(result: ToolResultPart | undefined): string {
  return stableJson(result === undefined ? null : [result.outcome, result.result, result.content ?? null]);
}

/** Joins digests into one line per call. Does not hash them again, because they are already short. */
function digestOf(lines: readonly string[]): string {
  return digest([...lines].sort().join("\n"));
}
