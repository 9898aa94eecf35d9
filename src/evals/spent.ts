// Adds up the tokens and costs of requests, trials and evaluations.

import { addCost } from "../shared/count-usage.ts";

/** Tokens and costs. A replayed trial spends nothing. */
export interface Spent {
  readonly tokens: number;
  readonly inputTokens: number;
  /** The part of `inputTokens` that services read from a cache. */
  readonly cachedTokens: number;
  /** The cost. Undefined if part of it is unknown, for example because a request failed. */
  readonly costUSD: number | undefined;
  /** The total of the known costs. */
  readonly knownCostUSD: number;
}

export const nothingSpent: Spent = { tokens: 0, inputTokens: 0, cachedTokens: 0, costUSD: 0, knownCostUSD: 0 };

export function addSpent(one: Spent, other: Spent): Spent {
  return {
    tokens: one.tokens + other.tokens,
    inputTokens: one.inputTokens + other.inputTokens,
    cachedTokens: one.cachedTokens + other.cachedTokens,
    costUSD: addCost(one.costUSD, other.costUSD),
    knownCostUSD: one.knownCostUSD + other.knownCostUSD,
  };
}
