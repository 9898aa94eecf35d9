import type { StopCondition } from "../types/middleware-options.ts";
import { describeRule, isWithin } from "../../shared/errors/check-fields.ts";
import { invalidOption } from "../../shared/errors/loop-error.ts";

const count = { min: 1 };

/**
 * Stops in iteration number `iterations`, counted from 1. The tool calls in that iteration do not run. Throws LoopError
 * "invalid-option" if the argument is not a whole number of at least 1.
 *
 * @example runToolLoop({ provider, tools, messages, middleware: [stopWhen(iterationCountIs(5))] });
 */
export function iterationCountIs(iterations: number): StopCondition {
  checkCount("iterationCountIs", iterations);
  return ({ iteration }) => iteration >= iterations;
}

/**
 * Stops when the model calls one of these tools. The tool does not run, and its call is in `result.pendingCalls`. Malformed and
 * truncated calls do not stop the run. Throws LoopError "invalid-option" if no name is given.
 *
 * @example
 * const { pendingCalls } = await runToolLoop({ provider, tools, messages, middleware: [stopWhen(hasToolCall("final_answer"))] });
 */
export function hasToolCall(names: string | readonly string[]): StopCondition {
  const wanted: unknown[] = [names].flat();
  if (wanted.length === 0 || !wanted.every((name) => typeof name === "string" && name !== "")) {
    throw invalidOption("hasToolCall", "a tool name or a non-empty array of tool names", names);
  }
  return ({ response }) => response.calls.some(({ name, problem }) => problem === undefined && wanted.includes(name));
}

/**
 * Stops at the first response after at least `calls` tool calls have been started, including calls in nested runs. Throws
 * LoopError "invalid-option" if the argument is not a whole number of at least 1.
 */
export function toolCallCountIs(calls: number): StopCondition {
  checkCount("toolCallCountIs", calls);
  return ({ toolCallsExecuted }) => toolCallsExecuted >= calls;
}

/**
 * Stops after at least `tokens` input and output tokens have been used, including tokens from nested runs. The response that exceeds this
 * number is part of the result. Unlike a run that `limits.maxTokens` ends, the run counts as completed. Throws LoopError "invalid-option"
 * if the argument is not a whole number of at least 1.
 */
export function tokenBudget(tokens: number): StopCondition {
  checkCount("tokenBudget", tokens);
  return ({ totalUsage }) => totalUsage.totalTokens >= tokens;
}

/**
 * Stops when the text of a response contains the string `pattern`, or matches the regular expression `pattern`. The search always
 * starts at the beginning of the text, even with the "g" or "y" flag, and `lastIndex` does not change. Throws LoopError
 * "invalid-option" for an empty string and for values of other types.
 *
 * @example runToolLoop({ provider, tools, messages, middleware: [stopWhen(textMatches(/\bDONE\b/))] });
 */
export function textMatches(pattern: string | RegExp): StopCondition {
  if (pattern instanceof RegExp) {
    // Copies the expression so that the caller's `lastIndex` does not change.
    const search = new RegExp(pattern);
    return ({ response }) => {
      search.lastIndex = 0;
      return search.test(response.text);
    };
  }
  if (typeof pattern === "string" && pattern !== "") return ({ response }) => response.text.includes(pattern);
  throw invalidOption("textMatches", "a non-empty string or a regular expression", pattern);
}

function checkCount(condition: string, value: unknown): void {
  if (!isWithin(value, count)) throw invalidOption(condition, describeRule(count), value);
}
