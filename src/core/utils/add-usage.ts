// Sums of usage. A field that nobody reported stays absent.

import type { Usage } from "../types/usage.ts";

/** No tokens at all. */
export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

/** The sum of two usages, as a new object. */
export function addUsage(a: Usage, b: Usage): Usage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    totalTokens: a.totalTokens + b.totalTokens,
    cachedInputTokens: addKnown(a.cachedInputTokens, b.cachedInputTokens),
    cacheWriteTokens: addKnown(a.cacheWriteTokens, b.cacheWriteTokens),
    reasoningTokens: addKnown(a.reasoningTokens, b.reasoningTokens),
  };
}

/** The sum of two costs in USD; unknown where one of them is. */
export function addCost(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

function addKnown(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined) return b;
  return b === undefined ? a : a + b;
}
