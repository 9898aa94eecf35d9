// Limits and timeouts: their defaults and least values, and the numbers that a run goes by.

import type { Timeouts } from "../../types/clock.ts";
import type { LoopLimits } from "../../types/limits.ts";
import type { LoopOptions } from "../../types/loop-options.ts";
import { invalidOption, unknownOption } from "../../errors/check-fields.ts";
import { longestTimerMs } from "../../utils/clock.ts";
import { describeRule, isWithin, type NumberRule, timeLimit } from "../../utils/number-rule.ts";

interface Rule extends NumberRule {
  readonly fallback: number;
}

const none = Number.POSITIVE_INFINITY;

type LimitName = Exclude<keyof LoopLimits, "onUnknownCost">;

/** All limits, with defaults for those that are absent. */
export type ResolvedLimits = { readonly [Name in LimitName]: number } & { readonly unknownCostEnds: boolean };

const timeRule = (fallback: number): Rule => ({ fallback, ...timeLimit });

// Calls in tables are marked pure, so that an entry which reads no table leaves it out.

/** Defaults and least values of the limits. */
export const limitRules: { readonly [Name in LimitName]: Rule } = {
  maxIterations: { fallback: 100, min: 1 },
  softWarnIteration: { fallback: 20, min: 0 },
  maxConsecutiveToolErrors: { fallback: 5, min: 1 },
  maxRestarts: { fallback: 5, min: 0 },
  maxInterrupts: { fallback: 3, min: 0 },
  maxIdenticalCalls: { fallback: 10, min: 2 },
  maxPauses: { fallback: 10, min: 0 },
  maxDepth: { fallback: 3, min: 1 },
  toolConcurrency: { fallback: 10, min: 1 },
  maxToolCalls: { fallback: none, min: 1 },
  maxTokens: { fallback: none, min: 1 },
  maxCostUSD: { fallback: none, min: 0, fraction: true },
  wallClockMs: /* @__PURE__ */ timeRule(none),
};

/** Defaults and least values of the timeouts, in milliseconds. */
export const timeoutRules: { readonly [Name in keyof Timeouts]-?: Rule } = {
  streamIdleMs: /* @__PURE__ */ timeRule(120_000),
  firstChunkMs: /* @__PURE__ */ timeRule(300_000),
  toolMs: /* @__PURE__ */ timeRule(300_000),
  settleMs: { fallback: 5_000, min: 0, max: longestTimerMs },
  approvalMs: /* @__PURE__ */ timeRule(none),
  hookMs: /* @__PURE__ */ timeRule(30_000),
  journalMs: /* @__PURE__ */ timeRule(60_000),
};

/** All limits, with defaults for those that are absent. Throws LoopError where one is out of range. */
export function resolveLimits(limits: LoopLimits = {}): ResolvedLimits {
  const { onUnknownCost = "end", ...numbers } = limits;
  if (onUnknownCost !== "end" && onUnknownCost !== "continue") {
    throw invalidOption("limits.onUnknownCost", '"end" or "continue"', onUnknownCost);
  }
  return { ...resolveNumbers("limits", numbers, limitRules), unknownCostEnds: onUnknownCost === "end" };
}

/** All timeouts, with defaults for those that are absent. Throws LoopError where one is out of range. */
export function resolveTimeouts(timeouts: LoopOptions["timeouts"] = {}): { readonly [Name in keyof Timeouts]-?: number } {
  const resolved = resolveNumbers("timeouts", timeouts, timeoutRules);
  return { ...resolved, firstChunkMs: timeouts.firstChunkMs ?? Math.max(resolved.streamIdleMs, resolved.firstChunkMs) };
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
