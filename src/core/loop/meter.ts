// Prices model requests, counts the tokens, tool calls and costs of a run and its nested runs, and limits the nesting depth.

import type { StreamResult } from "../types/provider.ts";
import type { EndReason } from "../types/termination.ts";
import { none, noReserve, type ResolvedLimits } from "./limits.ts";
import { insideKey, type Level } from "../tools/inside-call.ts";

interface Inside {
  [insideKey]?: { readonly run: Level };
}

/**
 * Marks a signal with the run's nesting level. Sets a plain property, because `Object.defineProperty` takes longer than the rest of a
 * synchronous call.
 */
export function noteLevel(signal: AbortSignal & Inside, { depth, maxDepth }: Level): void {
  signal[insideKey] ??= { run: { depth, maxDepth } };
}

/** Returns the outer run's nesting level. Returns undefined if `options` has neither the context nor the signal of a tool call. */
export function findOuterLevel(options: {
  readonly signal?: AbortSignal | undefined;
  readonly context?: unknown;
}): Level | undefined {
  const { signal, context } = options as { readonly signal?: Inside; readonly context?: Inside | null };
  return (signal?.[insideKey] ?? context?.[insideKey])?.run;
}

export type SharedLimits = Pick<ResolvedLimits, "maxTokens" | "maxToolCalls" | "maxCostUSD" | "unknownCostEnds" | "reserve">;

export interface Spending {
  readonly tokens?: number | undefined;
  readonly toolCalls?: number | undefined;
  readonly costUSD?: number | undefined;
  readonly costUnknown?: boolean | undefined;
}

/** The expected usage of one stream. */
export interface Expected {
  readonly tokens: number;
  readonly costUSD: number;
}

/** The streams in progress in nested runs, keyed by the meters of those runs. */
export interface NestedStreams {
  readonly expected: Map<object, Expected>;
  readonly onSettled: Set<() => void>;
}

/** A spending limit that was reached. */
export type SpentLimit = Extract<EndReason, { kind: "max-tokens" | "max-cost" | "cost-unknown" }> | undefined;

/** Returns the limit that a request with this usage would exceed. The reserve counts as already used. */
export function findSpent(
  { tokens: spent = 0, costUSD: spentUSD = 0, costUnknown }: Spending,
  { tokens, costUSD: expectedUSD }: Expected,
  { maxTokens, maxCostUSD, unknownCostEnds, reserve }: Omit<SharedLimits, "maxToolCalls">,
): SpentLimit {
  if (maxCostUSD !== none && unknownCostEnds && costUnknown === true) return { kind: "cost-unknown" };
  if (spentUSD + expectedUSD + reserve.costUSD > maxCostUSD)
    return { kind: "max-cost", limitUSD: maxCostUSD, spentUSD, expectedUSD };
  return spent + Math.max(1, tokens + reserve.tokens) > maxTokens ? { kind: "max-tokens", limit: maxTokens, spent } : undefined;
}

/** Counts what a run and its nested runs spend. Nested runs use `NestedMeter`. */
export class Meter {
  /** The usage of the newest counted stream. A nested run uses it as an estimate for its own first stream. */
  newest: Expected;
  /** The streams in progress in nested runs. */
  streams: NestedStreams | undefined;
  readonly #limits: SharedLimits;
  #tokens = 0;
  #toolCalls = 0;
  #costUSD = 0;
  #costUnknown = false;

  constructor(limits: SharedLimits) {
    this.newest = { tokens: 0, costUSD: 0 };
    this.#limits = limits;
  }

  add({ tokens = 0, toolCalls = 0, costUSD = 0, costUnknown = false }: Spending): void {
    this.#tokens += tokens;
    this.#toolCalls += toolCalls;
    this.#costUSD += costUSD;
    this.#costUnknown ||= costUnknown;
  }

  addUsage({ usage, costUSD, knownCostUSD }: Pick<StreamResult, "usage" | "costUSD" | "knownCostUSD">): void {
    this.newest = { tokens: usage?.totalTokens ?? 0, costUSD: costUSD ?? knownCostUSD ?? 0 };
    this.add({ ...this.newest, costUnknown: costUSD === undefined });
  }

  /** The number of tokens that may still be used within the limits of this run and its outer runs. */
  get tokensLeft(): number {
    return Math.max(0, this.#limits.maxTokens - this.#limits.reserve.tokens - this.#tokens);
  }

  /** The number of tool calls that may still be made within the limits of this run and its outer runs. */
  get toolCallsLeft(): number {
    return Math.max(0, this.#limits.maxToolCalls - this.#toolCalls);
  }

  /** The cost in USD that may still be spent within the limits of this run and its outer runs. Unknown costs do not count. */
  get costLeftUSD(): number {
    return Math.max(0, this.#limits.maxCostUSD - this.#limits.reserve.costUSD - this.#costUSD);
  }

  /** The smallest tool-call limit of this run and its outer runs. */
  get maxToolCalls(): number {
    return this.#limits.maxToolCalls;
  }

  /**
   * Returns the limit of this run or of an outer run that a stream with this cost would exceed. `unsettled` is spending that has not been
   * counted yet. Only a run's final answer (`isFinal`) may use the reserve, so nested runs may use less than the limits.
   */
  findSpent(expectedUSD: number, { tokens = 0, costUSD = 0 }: Spending = {}, isFinal?: boolean): SpentLimit {
    const spent = { tokens: this.#tokens + tokens, costUSD: this.#costUSD + costUSD, costUnknown: this.#costUnknown };
    const limits = isFinal === true ? { ...this.#limits, reserve: noReserve } : this.#limits;
    return findSpent(spent, { tokens: 1, costUSD: expectedUSD }, limits);
  }
}
