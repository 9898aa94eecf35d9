// Fills in the defaults of limits, timeouts and policies.

import type { Timeouts } from "../../types/common.ts";
import type { LoopLimits, LoopOptions } from "../../types/loop-options.ts";
import { describeRule, invalidOption, isWithin, type NumberRule, timeLimit, unknownOption } from "../../errors/check-fields.ts";
import { longestTimerMs } from "../../cancellation/deadline.ts";
import type { LoopPolicies, PreToolTextPolicy } from "../../types/policies.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { listItems } from "../../utils/promises.ts";
import type { LoopRule } from "../state/apply-call.ts";

interface Rule extends NumberRule {
  readonly fallback: number;
}

const none = Number.POSITIVE_INFINITY;

type LimitName = Exclude<keyof LoopLimits, "onUnknownCost">;

export type ResolvedLimits = { readonly [Name in LimitName]: number } & { readonly unknownCostEnds: boolean };

const timeRule = (fallback: number): Rule => ({ fallback, ...timeLimit });

// The function calls in these tables are marked as pure, so that bundlers can remove the tables where they are unused.

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

/** Limits that never end a run. Code that reads a journal uses these limits, because the records already contain the endings. */
export const noLimits: ResolvedLimits = /* @__PURE__ */ turnOff(limitRules);

function turnOff(rules: typeof limitRules): ResolvedLimits {
  const off = Object.fromEntries(Object.keys(rules).map((name) => [name, none])) as Numbers<LimitName>;
  return { ...off, unknownCostEnds: false };
}

export const timeoutRules: { readonly [Name in keyof Timeouts]-?: Rule } = {
  streamIdleMs: /* @__PURE__ */ timeRule(120_000),
  firstChunkMs: /* @__PURE__ */ timeRule(300_000),
  toolMs: /* @__PURE__ */ timeRule(300_000),
  settleMs: { fallback: 5_000, min: 0, max: longestTimerMs },
  approvalMs: /* @__PURE__ */ timeRule(none),
  hookMs: /* @__PURE__ */ timeRule(30_000),
  journalMs: /* @__PURE__ */ timeRule(60_000),
};

export function resolveLimits(limits: LoopLimits = {}): ResolvedLimits {
  const { onUnknownCost = "end", ...numbers } = limits;
  if (onUnknownCost !== "end" && onUnknownCost !== "continue") {
    throw invalidOption("limits.onUnknownCost", '"end" or "continue"', onUnknownCost);
  }
  return { ...resolveNumbers("limits", numbers, limitRules), unknownCostEnds: onUnknownCost === "end" };
}

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
  for (const name of Object.keys(rules) as Name[]) {
    const rule = rules[name];
    const value: unknown = Reflect.get(given, name);
    if (value !== undefined && !isWithin(value, rule)) throw invalidOption(`${group}.${name}`, describeRule(rule), value);
    resolved[name] = typeof value === "number" ? value : rule.fallback;
  }
  return resolved as Numbers<Name>;
}

/** The limits that `nextStep` checks. `Infinity` means no limit. */
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

export function toBounds(
  { policies = {}, hooks }: LoopOptions,
  limits: ResolvedLimits,
  { loopRule, outputRetries, maxHandoffs }: Pick<Bounds, "loopRule" | "outputRetries" | "maxHandoffs">,
): RunBounds {
  const { finalAnswer, preToolText } = policies;
  return {
    ...limits,
    finalAnswer: finalAnswer === true,
    asksIteration: hooks?.onIteration !== undefined,
    preToolText: copyPolicy(preToolText),
    loopRule,
    compacts: policies.compaction !== undefined,
    outputRetries,
    maxHandoffs,
  };
}

/** Copies the policy, so that later changes by the caller do not change the run. */
function copyPolicy({ endAfterTextFamilies, suppressFollowUpAfterText }: PreToolTextPolicy = {}): PreToolTextPolicy {
  return {
    endAfterTextFamilies: endAfterTextFamilies?.slice(),
    suppressFollowUpAfterText: suppressFollowUpAfterText?.slice(),
  };
}

export function allowedBy(gate: LoopPolicies["gate"]): ReadonlySet<string> | undefined {
  if (gate?.active !== true || gate.allowedNames === undefined) return undefined;
  try {
    return new Set(listItems(gate.allowedNames));
  } catch (error) {
    const option = "policies.gate.allowedNames";
    const details = { option, expected: "an array or a set of tool names", received: "a value that throws when it is read" };
    throw new LoopError("invalid-option", details, { cause: error });
  }
}
