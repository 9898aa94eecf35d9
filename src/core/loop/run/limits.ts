// The defaults and ranges of all limits and timeouts. Each limit is resolved once, when the run starts.

import type { Timeouts } from "../../types/common.ts";
import type { LoopLimits, LoopOptions } from "../../types/loop-options.ts";
import { checkFields, invalidOption, is, type NumberRule } from "../../errors/check-fields.ts";
import { type LimitName, limitRules, none, reserveChecks, timeoutRules } from "./option-table.ts";
import type { FinalAnswerReserve, LoopPolicies, PreToolTextPolicy } from "../../types/policies.ts";
import type { LoopRule } from "../state/apply-call.ts";

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

/** The limits that `nextStep` checks. The value `Infinity` means that there is no limit. */
export interface Bounds {
  readonly maxIterations: number;
  readonly maxConsecutiveToolErrors: number;
  readonly maxRestarts: number;
  /** The number of identical consecutive iterations that ends the run. Default: no limit. */
  readonly maxIdenticalCalls?: number | undefined;
  readonly maxPauses: number;
  /** The maximum number of handoffs. Default: no limit. */
  readonly maxHandoffs?: number | undefined;
  readonly maxToolCalls: number;
  readonly maxTokens: number;
  /** The maximum cost in USD. Default: no limit. */
  readonly maxCostUSD?: number | undefined;
  /** True if a stream with an unknown cost ends a run with `maxCostUSD`. Default true. */
  readonly unknownCostEnds?: boolean | undefined;
  readonly wallClockMs: number;
  /** True if the model may give a final answer without tools after a limit is reached. */
  readonly finalAnswer: boolean;
  /**
   * The part of the limits that only a final answer may use. Without a reserve, `maxTokens`, `maxCostUSD` and `wallClockMs` end the
   * run without a final answer.
   */
  readonly reserve?: Reserve | undefined;
  /** True if the caller passed an `onIteration` hook. */
  readonly asksIteration: boolean;
  /** The rule that decides if repeated calls are a loop, and how the run reacts. Default: no loop detection. */
  readonly loopRule?: LoopRule | undefined;
  /** True if old messages can be summarized after the service has refused a request as too long. Default false. */
  readonly compacts?: boolean | undefined;
  /** The maximum number of consecutive retries after an invalid answer. Undefined if there is no output schema. */
  readonly outputRetries?: number | undefined;
  /** Decides if text before a tool call is already the answer. Default: see `PreToolTextPolicy`. */
  readonly preToolText?: PreToolTextPolicy | undefined;
}

export type RunBounds = ResolvedLimits & Bounds;

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
