import type { ToolResultPart } from "../../types/message.ts";
import type { LoopDetection, LoopDetectionOptions } from "../../types/policies.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { checkFields, type Checks, is, numberWithin, oneOf } from "../../errors/check-fields.ts";
import { digest, stableJson } from "../../utils/json.ts";
import type { Repetition } from "./loop-state.ts";
import type { Repeats } from "./step-result.ts";
import type { CycleRules } from "./step-key.ts";

const checks: Checks<LoopDetectionOptions> = {
  threshold: /* @__PURE__ */ numberWithin({ min: 2 }),
  action: /* @__PURE__ */ oneOf("warn", "stop", "inject-warning"),
  maxCycle: /* @__PURE__ */ numberWithin({ min: 1, max: 100, infinite: false }),
  compareResults: is.flag,
};

/**
 * Detects a model that repeats an iteration or a sequence of iterations. Without loop detection, a run still ends after
 * `limits.maxIdenticalCalls` identical iterations.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example await runToolLoop({ provider, tools, messages, policies: { loopDetection: detectLoops({ action: "stop" }) } });
 */
export function detectLoops(options: LoopDetectionOptions = {}): LoopDetection {
  checkFields("policies.loopDetection", options, checks);
  const { threshold = 3, action = "warn", maxCycle = 4, compareResults = false } = options;
  const cycles = Object.freeze({ maxCycle, compareResults });
  const detection = { kind: "loop-detection", threshold, action, cycles, begin: () => createRepetition(cycles) } as const;
  return Object.freeze(detection);
}

interface CountedIteration {
  readonly calls: string;
  readonly results: string | undefined;
}

export function createRepetition(rules: CycleRules): CountedRepetition {
  const matches = Array.from({ length: rules.maxCycle }, () => 0);
  return new CountedRepetition(rules, [], matches);
}

export class CountedRepetition implements Repetition {
  readonly #rules: CycleRules;
  /** The newest iterations, in reverse order. Holds at most one iteration more than the longest cycle that is detected. */
  readonly iterations: readonly CountedIteration[];
  /**
   * Element `n - 1` is for cycles of `n` iterations. From the newest iteration backwards, each iteration is compared with the
   * iteration `n` positions before it. The element counts the equal pairs before the first difference. For example, after the
   * iterations A B A B, the element with index 1 is 2.
   */
  readonly #matches: readonly number[];

  constructor(rules: CycleRules, iterations: readonly CountedIteration[], matches: readonly number[]) {
    this.#rules = rules;
    this.iterations = iterations;
    this.#matches = matches;
  }

  restart(): CountedRepetition {
    return createRepetition(this.#rules);
  }

  countCalls(calls: readonly ToolCall[]): CountedRepetition {
    if (calls.length === 0) return this.restart();
    const last: CountedIteration = { calls: digestOf(calls.map(describeCall)), results: undefined };
    const iterations = [last, ...this.iterations].slice(0, this.#rules.maxCycle + 1);
    const matches = this.#matches.map((count, index) => (this.iterations[index]?.calls === last.calls ? count + 1 : 0));
    return new CountedRepetition(this.#rules, iterations, matches);
  }

  noteResults(calls: readonly ToolCall[], results: readonly ToolResultPart[]): CountedRepetition {
    const [last, ...earlier] = this.iterations;
    if (last === undefined || !this.#rules.compareResults) return this;
    const lines = calls.map((call, index) => `${digest(describeCall(call))} ${digest(describeResult(results[index]))}`);
    const noted: CountedIteration = { ...last, results: digestOf(lines) };
    const matches = this.#matches.map((count, index) => (earlier[index]?.results === noted.results ? count : 0));
    return new CountedRepetition(this.#rules, [noted, ...earlier], matches);
  }

  repeats(cycle: number): boolean {
    return this.#matches[cycle - 1] !== 0;
  }

  findRepeats(threshold: number): Repeats | undefined {
    for (const [index, matched] of this.#matches.entries()) {
      const cycle = index + 1;
      const count = matched / cycle + 1;
      if (matched > 0 && count % threshold === 0 && !this.#isMadeOfShorter({ cycle, count })) return { cycle, count };
    }
    return undefined;
  }

  #isMadeOfShorter({ cycle, count }: Repeats): boolean {
    return this.#matches.some((matched, index) => {
      const shorter = index + 1;
      return shorter < cycle && cycle % shorter === 0 && matched >= count * cycle - shorter;
    });
  }
}

/** Calls with invalid arguments are compared by `argsText`, because their `args` is always `{}`. */
function describeCall({ name, args, argsText, problem }: ToolCall): string {
  return stableJson(problem === undefined ? [name, args] : [name, problem, argsText ?? ""]);
}

function describeResult(result: ToolResultPart | undefined): string {
  return stableJson(result === undefined ? null : [result.outcome, result.result, result.content ?? null]);
}

/** Digests each line first, because the joined lines may be too long for a string. */
function digestOf(lines: readonly string[]): string {
  return digest(lines.map(digest).sort().join("\n"));
}
