// Ready-made stop conditions. Several in `policies.stopWhen` are called in order, and the first that says stop ends the run.

import type { StopCondition } from "../types/policies.ts";
import { describeRule, invalidOption, isWithin } from "../errors/check-fields.ts";

const count = { min: 1 };

/**
 * Stops at iteration number `iterations`, before its calls run. Throws LoopError "invalid-option" unless the argument is a whole
 * number of at least 1.
 *
 * @example runToolLoop({ provider, tools, messages, policies: { stopWhen: iterationCountIs(5) } });
 */
export function iterationCountIs(iterations: number): StopCondition {
  checkCount("iterationCountIs", iterations);
  return ({ iteration }) => iteration >= iterations;
}

/**
 * Stops when the model calls one of these tools. The tool does not run; its call is in `result.pendingCalls`. Malformed or
 * truncated calls do not count, and the model is asked to send them again. Throws LoopError "invalid-option" if no name is given.
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
 * Stops at the first response after `calls` calls were dispatched, including those of nested runs. Throws LoopError
 * "invalid-option" unless the argument is a whole number of at least 1.
 */
export function toolCallCountIs(calls: number): StopCondition {
  checkCount("toolCallCountIs", calls);
  return ({ toolCallsExecuted }) => toolCallsExecuted >= calls;
}

/**
 * Stops once `tokens` input and output tokens are used, including those of nested runs. Unlike `limits.maxTokens`, it also gets
 * the response that crosses the number, and the run ends as completed. Throws LoopError "invalid-option" unless the argument is a
 * whole number of at least 1.
 */
export function tokenBudget(tokens: number): StopCondition {
  checkCount("tokenBudget", tokens);
  return ({ totalUsage }) => totalUsage.totalTokens >= tokens;
}

/**
 * Stops when the text of a response contains the string `pattern`, or matches the regular expression. An expression always
 * searches from the start of the text, even with the flags "g" or "y", and is not changed. Throws LoopError "invalid-option" for
 * anything else, and for an empty text.
 *
 * @example runToolLoop({ provider, tools, messages, policies: { stopWhen: textMatches(/\bDONE\b/) } });
 */
export function textMatches(pattern: string | RegExp): StopCondition {
  if (pattern instanceof RegExp) {
    // A copy, because a search with "g" or "y" would move the `lastIndex` of the caller's expression.
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
