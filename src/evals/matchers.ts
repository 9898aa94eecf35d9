// Defines matchers for `expect` in vitest and jest.

import type { EndReason, LoopResult, LoopStatus } from "../core/index.ts";
import { isRecord, textOf } from "../core/kit.ts";
import { formatMs, formatUSD } from "../inspect/format.ts";

/** Upper limits for a run. A run with an unknown cost counts as exceeding `costUSD`. */
export interface RunBounds {
  /** The maximum number of iterations. */
  readonly iterations?: number | undefined;
  /** The maximum number of started tool calls, including those in nested runs. */
  readonly toolCalls?: number | undefined;
  /** The maximum number of input and output tokens. */
  readonly tokens?: number | undefined;
  /** The maximum cost in USD. */
  readonly costUSD?: number | undefined;
  /** The maximum active time, in milliseconds. */
  readonly durationMs?: number | undefined;
}

/**
 * The types of the matchers.
 *
 * @example
 * declare module "vitest" {
 *   interface Matchers<T> extends EvalMatchers<T> {}
 * }
 */
export interface EvalMatchers<Returned = unknown> {
  /** Passes if the run called the tool. With `args`, at least one call must have these fields. */
  toHaveCalled(tool: string, args?: unknown): Returned;
  /** Passes if the run ended with this status or this kind of reason, such as "completed" or "max-iterations". */
  toEndAs(ending: LoopStatus | EndReason["kind"]): Returned;
  /** Passes if the run stayed within all of these bounds. */
  toStayWithin(bounds: RunBounds): Returned;
}

/** The value that vitest and jest pass as `this`. */
interface MatcherContext {
  equals(one: unknown, other: unknown, testers?: readonly unknown[]): boolean;
  readonly utils: { readonly subsetEquality: unknown; readonly iterableEquality: unknown };
}

interface Matched {
  readonly pass: boolean;
  message(): string;
}

type MatcherFunctions = {
  readonly [Name in keyof EvalMatchers]: (
    this: MatcherContext,
    received: unknown,
    ...args: Parameters<EvalMatchers[Name]>
  ) => Matched;
};

/**
 * Matchers for run results. Pass them to `expect.extend`. They work in any test, with or without an evaluation.
 *
 * @example
 * expect.extend(evalMatchers);
 * expect(result).toHaveCalled("refund", { order: 7 });
 * expect(result).toEndAs("completed");
 * expect(result).toStayWithin({ iterations: 4, costUSD: 0.01 });
 */
export const evalMatchers: MatcherFunctions = {
  toHaveCalled(received, tool, args) {
    const { calls } = readResult("toHaveCalled", received);
    const testers = [this.utils.iterableEquality, this.utils.subsetEquality];
    const isMeant = (call: { readonly args: unknown }): boolean => args === undefined || this.equals(call.args, args, testers);
    const named = calls.filter(({ name }) => name === tool);
    const wanted = args === undefined ? tool : `${tool} with ${JSON.stringify(args)}`;
    const made = calls.map((call) => `${call.name}(${JSON.stringify(call.args)})`).join(", ");
    return answer(named.some(isMeant), `call ${wanted}`, made === "" ? "It called no tool." : `Its calls: ${made}.`);
  },
  toEndAs(received, ending) {
    const { status, reason } = readResult("toEndAs", received);
    const problem = "error" in reason && isRecord(reason.error) ? `: ${textOf(reason.error["message"])}` : "";
    return answer(
      status === ending || reason.kind === ending,
      `end as ${ending}`,
      `It ended as ${status} (${reason.kind})${problem}.`,
    );
  },
  toStayWithin(received, bounds) {
    const { iterations, toolCallsExecuted, usage, costUSD, durationMs } = readResult("toStayWithin", received);
    const values = { iterations, toolCalls: toolCallsExecuted, tokens: usage.totalTokens, costUSD, durationMs };
    const names = Object.keys(bounds) as (keyof RunBounds)[];
    const unknown = names.find((name) => !Object.hasOwn(values, name));
    if (unknown !== undefined)
      throw new TypeError(`toStayWithin has no bound "${unknown}". Use one of these bounds: ${Object.keys(values).join(", ")}.`);
    const show = (name: keyof RunBounds, value: number | undefined): string => {
      if (value === undefined) return "unknown";
      return name === "costUSD" ? formatUSD(value) : name === "durationMs" ? formatMs(value) : String(value);
    };
    const over = names.filter(
      (name) => bounds[name] !== undefined && !((values[name] ?? Number.POSITIVE_INFINITY) <= bounds[name]),
    );
    const compared = (over.length === 0 ? names : over).map(
      (name) => `${name} ${show(name, values[name])} of ${show(name, bounds[name])}`,
    );
    return answer(over.length === 0, `stay within ${JSON.stringify(bounds)}`, `It used ${compared.join(", ")}.`);
  },
};

function readResult(matcher: string, received: unknown): LoopResult {
  if (isRecord(received) && isRecord(received["reason"]) && Array.isArray(received["calls"]))
    return received as unknown as LoopResult;
  const isPromise = isRecord(received) && ("then" in received || "result" in received);
  throw new TypeError(
    `The matcher ${matcher} needs the result of a run.${isPromise ? " Await the run first, or the promise `result` of a stream." : ""}`,
  );
}

function answer(pass: boolean, expected: string, facts: string): Matched {
  return { pass, message: () => `Expected the run ${pass ? "not to" : "to"} ${expected}. ${facts}` };
}
