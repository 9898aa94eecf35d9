// Limits and timeouts: their defaults and least values, and the numbers that a run goes by.

import type { Timeouts } from "../contract/clock.ts";
import type { LoopLimits } from "../contract/limits.ts";
import type { LoopOptions } from "../contract/loop-options.ts";
import { invalidOption, unknownOption } from "../errors/check-fields.ts";

/** The longest time that a timer can be set to. */
const maxTimerMs = 2 ** 31 - 1;

interface Rule {
  readonly fallback: number;
  readonly min: number;
  readonly max?: number;
}

const none = Number.POSITIVE_INFINITY;

/** Defaults and least values of the limits. */
export const limitRules: { readonly [Name in keyof Required<LoopLimits>]: Rule } = {
  maxIterations: { fallback: 100, min: 1 },
  softWarnIteration: { fallback: 20, min: 0 },
  maxConsecutiveToolErrors: { fallback: 5, min: 1 },
  maxRestarts: { fallback: 5, min: 0 },
  maxInterrupts: { fallback: 3, min: 0 },
  maxPauses: { fallback: 10, min: 0 },
  maxDepth: { fallback: 3, min: 1 },
  toolConcurrency: { fallback: 10, min: 1 },
  maxToolCalls: { fallback: none, min: 1 },
  maxTokens: { fallback: none, min: 1 },
  wallClockMs: { fallback: none, min: 1, max: maxTimerMs },
};

/** Defaults and least values of the timeouts, in milliseconds. */
export const timeoutRules: { readonly [Name in keyof Timeouts]: Rule } = {
  streamIdleMs: { fallback: 120_000, min: 1, max: maxTimerMs },
  firstChunkMs: { fallback: 300_000, min: 1, max: maxTimerMs },
  toolMs: { fallback: 300_000, min: 1, max: maxTimerMs },
  settleMs: { fallback: 5_000, min: 0, max: maxTimerMs },
  approvalMs: { fallback: none, min: 1, max: maxTimerMs },
  hookMs: { fallback: 30_000, min: 1, max: maxTimerMs },
};

/** All limits, with defaults for those that are absent. Throws LoopError where one is out of range. */
export function resolveLimits(limits: LoopLimits = {}): { readonly [Name in keyof Required<LoopLimits>]: number } {
  return resolveNumbers("limits", limits, limitRules);
}

/** All timeouts, with defaults for those that are absent. Throws LoopError where one is out of range. */
export function resolveTimeouts(timeouts: LoopOptions["timeouts"] = {}): Timeouts {
  const resolved = resolveNumbers("timeouts", timeouts, timeoutRules);
  return { ...resolved, firstChunkMs: timeouts.firstChunkMs ?? Math.max(resolved.streamIdleMs, resolved.firstChunkMs) };
}

/** What a time limit must be, where this value is none. */
export function findTimeoutProblem(value: unknown): string | undefined {
  return isWithin(value, timeoutRules.toolMs) ? undefined : describeRule(timeoutRules.toolMs);
}

type Numbers<Name extends string> = { readonly [Key in Name]: number };

function resolveNumbers<Name extends string>(
  group: string,
  given: object,
  rules: { readonly [Key in Name]: Rule },
): Numbers<Name> {
  const resolved: { [key: string]: number } = {};
  for (const name of Object.keys(given)) if (!Object.hasOwn(rules, name)) throw unknownOption(name, group, Object.keys(rules));
  for (const [name, rule] of Object.entries<Rule>(rules)) {
    const value: unknown = Reflect.get(given, name);
    if (value !== undefined && !isWithin(value, rule)) throw invalidOption(`${group}.${name}`, describeRule(rule), value);
    resolved[name] = typeof value === "number" ? value : rule.fallback;
  }
  return resolved as Numbers<Name>;
}

/** Whether a value is a whole number within a rule, or none. */
export function isWithin(value: unknown, { min, max = Number.MAX_SAFE_INTEGER }: Rule): boolean {
  if (value === none) return true;
  return Number.isInteger(value) && typeof value === "number" && value >= min && value <= max;
}

function describeRule({ min, max }: Rule): string {
  return max === undefined
    ? `a whole number of at least ${min}, or Infinity`
    : `a whole number from ${min} to ${max}, or Infinity`;
}
