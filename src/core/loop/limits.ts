// Defines the defaults of all limits and timeouts. A run resolves each limit once, when it starts.

import type { Timeouts } from "../types/common.ts";
import type { LoopLimits, LoopOptions } from "../types/loop-options.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import { defaultStreamMs } from "../providers/guard-stream.ts";
import { never as none } from "../../shared/signals.ts";
import type { FinalAnswerReserve } from "../types/middleware-options.ts";

export { none };

export type LimitName = Exclude<keyof LoopLimits, "onUnknownCost">;

type Numbers<Name extends string> = { readonly [Key in Name]-?: number };

export const limitDefaults: Numbers<LimitName> = {
  maxIterations: 100,
  softWarnIteration: 20,
  maxConsecutiveToolErrors: 5,
  maxInterrupts: 3,
  maxPauses: 10,
  maxDepth: 3,
  toolConcurrency: 10,
  maxToolCalls: none,
  maxTokens: none,
  maxCostUSD: none,
  wallClockMs: none,
};

export const timeoutDefaults: Numbers<keyof Timeouts> = {
  streamIdleMs: 120_000,
  firstChunkMs: 300_000,
  streamMs: defaultStreamMs,
  toolMs: 300_000,
  toolCleanupMs: 5_000,
  approvalMs: none,
  callbackMs: 30_000,
  journalMs: 60_000,
};

type Reserve = { readonly [Field in keyof FinalAnswerReserve]-?: number };

export interface ResolvedLimits extends Numbers<LimitName> {
  readonly unknownCostEnds: boolean;
  /** The part of the limits that is reserved for a final iteration granted by `beforeEnd`. */
  readonly reserve: Reserve;
}

export const noReserve: Reserve = { tokens: 0, costUSD: 0, ms: 0 };

/** Adds the default limits, and the reserve that a middleware requests. */
export function resolveLimits(
  { onUnknownCost, ...limits }: LoopLimits = {},
  middleware: readonly { readonly reserve?: FinalAnswerReserve | undefined }[] = [],
): ResolvedLimits {
  const reserve: Reserve = Object.assign({}, noReserve, ...middleware.map((one) => one.reserve));
  return { unknownCostEnds: onUnknownCost !== "continue", reserve, ...resolveNumbers("limits", limits, limitDefaults) };
}

/** Adds the default timeouts. */
export function resolveTimeouts(timeouts: LoopOptions["timeouts"] = {}): Numbers<keyof Timeouts> {
  const resolved = resolveNumbers("timeouts", timeouts, timeoutDefaults);
  return { ...resolved, firstChunkMs: timeouts.firstChunkMs ?? Math.max(resolved.streamIdleMs, resolved.firstChunkMs) };
}

/** Refuses misspelled names and NaN, because such a limit would never be reached. Ranges are checked with all other options. */
function resolveNumbers<Name extends string>(
  group: string,
  given: { readonly [Key in Name]?: number | undefined },
  defaults: Numbers<Name>,
): Numbers<Name> {
  const resolved: { [name: string]: number } = { ...defaults };
  for (const [name, value] of Object.entries<unknown>(given)) {
    if (!Object.hasOwn(defaults, name)) throw new LoopError("unknown-option", { option: `${group}.${name}` });
    if (value === undefined) continue;
    if (typeof value !== "number" || Number.isNaN(value)) throw invalidOption(`${group}.${name}`, "a number", value);
    resolved[name] = value;
  }
  return resolved as Numbers<Name>;
}
