// The defaults and ranges of all limits and timeouts. Each limit is resolved once, when the run starts.

import type { Timeouts } from "../../types/common.ts";
import type { LoopLimits, LoopOptions } from "../../types/loop-options.ts";
import { checkFields, invalidOption, is, type NumberRule } from "../../errors/check-fields.ts";
import { type LimitName, limitRules, none, reserveChecks, timeoutRules } from "./option-table.ts";
import type { FinalAnswerReserve, LoopPolicies } from "../../types/policies.ts";

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

const reservedLimits = { tokens: "maxTokens", costUSD: "maxCostUSD", ms: "wallClockMs" } as const;

/** Throws LoopError "invalid-option" if the limit of a reserve is not set, or if a reserve is not less than its limit. */
export function resolveReserve(
  { finalAnswer: policy }: LoopPolicies | undefined = {},
  limits: Pick<ResolvedLimits, "maxTokens" | "maxCostUSD" | "wallClockMs">,
): Reserve | undefined {
  if (policy === undefined || typeof policy === "boolean") return undefined;
  const path = "policies.finalAnswer";
  checkFields(path, policy, { reserve: is.any });
  checkFields(`${path}.reserve`, policy.reserve, reserveChecks);
  const { tokens = 0, costUSD = 0, ms = 0 } = policy.reserve;
  const reserve = { tokens, costUSD, ms };
  for (const [field, name] of Object.entries(reservedLimits) as [keyof FinalAnswerReserve, keyof typeof limits][]) {
    const kept = reserve[field];
    if (kept > 0 && (limits[name] === none || kept >= limits[name]))
      throw invalidOption(`${path}.reserve.${field}`, `less than "limits.${name}", which must be set`, kept);
  }
  return reserve;
}
