// Ready-made stop conditions. Several in `policies.stopWhen` are asked in order, and the first one that says so ends the run.

import type { StopCondition } from "../types/policies.ts";
import { describeRule, invalidOption, isWithin } from "../errors/check-fields.ts";

const count = { min: 1 };

/**
 * Stops at the `iterations`th iteration, before its calls run. Throws LoopError "invalid-option" where that is no whole number of at least 1.
 *
 * @example runToolLoop({ provider, tools, messages, policies: { stopWhen: iterationCountIs(5) } });
 */
export function iterationCountIs(iterations: number): StopCondition {
  checkCount("iterationCountIs", iterations);
  return ({ iteration }) => iteration >= iterations;
}

/**
 * Stops when the model calls one of these tools, which then does not run: its call is in `result.pendingCalls`. Calls that came broken
 * or cut off do not count; the model is asked to send them again. Throws LoopError "invalid-option" where no name is given.
 *
 * @example
 * const { pendingCalls } = await runToolLoop({ provider, tools, messages, policies: { stopWhen: hasToolCall("final_answer") } });
 */
export function hasToolCall(names: string | readonly string[]): StopCondition {
  const wanted: unknown[] = [names].flat();
  if (wanted.length === 0 || !wanted.every((name) => typeof name === "string" && name !== "")) {
    throw invalidOption("hasToolCall", "the name of a tool, or an array of at least one", names);
  }
  return ({ response }) => response.calls.some(({ name, problem }) => problem === undefined && wanted.includes(name));
}

/**
 * Stops at the first response after `calls` calls were dispatched, those of nested runs included. Throws LoopError "invalid-option" where
 * that is no whole number of at least 1.
 */
export function toolCallCountIs(calls: number): StopCondition {
  checkCount("toolCallCountIs", calls);
  return ({ toolCallsExecuted }) => toolCallsExecuted >= calls;
}

/**
 * Stops once `tokens` tokens are used, input and output, nested runs included. Unlike `limits.maxTokens` it also sees the response that
 * crosses the number, and the run ends as completed. Throws LoopError "invalid-option" where that is no whole number of at least 1.
 */
export function tokenBudget(tokens: number): StopCondition {
  checkCount("tokenBudget", tokens);
  return ({ totalUsage }) => totalUsage.totalTokens >= tokens;
}

/**
 * Stops when the text of a response holds `pattern`, or matches it. A regular expression is searched for from the start of each text,
 * whatever its flags, and stays as it is. Throws LoopError "invalid-option" where it is neither, or an empty text.
 *
 * @example runToolLoop({ provider, tools, messages, policies: { stopWhen: textMatches(/\bDONE\b/) } });
 */
export function textMatches(pattern: string | RegExp): StopCondition {
  if (pattern instanceof RegExp) {
    // The caller's own keeps its `lastIndex`, which a "g" or a "y" would move.
    const search = new RegExp(pattern);
    return ({ response }) => {
      search.lastIndex = 0;
      return search.test(response.text);
    };
  }
  if (typeof pattern === "string" && pattern !== "") return ({ response }) => response.text.includes(pattern);
  throw invalidOption("textMatches", "a text that is not empty, or a regular expression", pattern);
}

function checkCount(condition: string, value: unknown): void {
  if (!isWithin(value, count)) throw invalidOption(`${condition}(n)`, describeRule(count), value);
}
