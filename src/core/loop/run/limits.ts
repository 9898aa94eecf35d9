// The defaults and ranges of all limits and timeouts. Each limit is resolved once, when the run starts.

import type { Timeouts } from "../../types/common.ts";
import type { LoopLimits, LoopOptions } from "../../types/loop-options.ts";
import type { FinalAnswerReserve } from "../../types/policies.ts";
import type { NumberRule } from "../../errors/check-fields.ts";
import { type LimitName, limitRules, timeoutRules } from "./option-table.ts";

export type ResolvedLimits = { readonly [Name in LimitName]: number } & { readonly unknownCostEnds: boolean };

/** Adds the default limits to checked limits. */
export function resolveLimits({ onUnknownCost, ...limits }: LoopLimits = {}): ResolvedLimits {
  return { unknownCostEnds: onUnknownCost !== "continue", ...resolveNumbers(limits, limitRules) };
}

/** Adds the default timeouts to checked timeouts. */
export function resolveTimeouts(timeouts: LoopOptions["timeouts"] = {}): Numbers<keyof Timeouts> {
  const resolved = resolveNumbers(timeouts, timeoutRules);
  return { ...resolved, firstChunkMs: timeouts.firstChunkMs ?? Math.max(resolved.streamIdleMs, resolved.firstChunkMs) };
}

type Numbers<Name extends string> = { readonly [Key in Name]-?: number };

function resolveNumbers<Name extends string>(
  given: { readonly [Key in Name]?: number | undefined },
  rules: { readonly [Key in Name]: NumberRule },
): Numbers<Name> {
  const names = Object.keys(rules) as Name[];
  return Object.fromEntries(names.map((name) => [name, given[name] ?? rules[name].fallback])) as Numbers<Name>;
}

export type Reserve = { readonly [Field in keyof FinalAnswerReserve]-?: number };

export const noReserve: Reserve = { tokens: 0, costUSD: 0, ms: 0 };
