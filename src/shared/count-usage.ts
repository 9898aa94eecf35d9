// Adds token counts and costs. A sum with an unknown count or cost is unknown.

import type { Usage } from "../core/types/common.ts";
import type { StreamResult } from "../core/types/provider.ts";
import type { NestedSpending } from "../core/types/tool-outcome.ts";

export const noUsage: Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };

const countNames = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "reasoningTokens",
] as const;

/** Creates a `Usage` from the count for each name. The counts of input, output and total tokens must not be undefined. */
export function toCounts(countOf: (name: keyof Usage) => number | undefined): Usage {
  const usage: { -readonly [Name in keyof Usage]?: number | undefined } = {};
  for (const name of countNames) usage[name] = countOf(name);
  return usage as Usage;
}

export function addUsage(a: Usage, b: Usage): Usage {
  return toCounts((name) => (a[name] === undefined ? b[name] : a[name] + (b[name] ?? 0)));
}

export function addCost(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a + b;
}

/** Adds two costs or counts, either of which may be unknown. Undefined only if both are unknown. */
export function addKnown(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : a + b;
}

/** Returns the cost, or the known part of it. */
export function knownCostOf({ costUSD, knownCostUSD = 0 }: Pick<StreamResult, "costUSD" | "knownCostUSD">): number {
  return costUSD ?? knownCostUSD;
}

export function addSpending(sum: NestedSpending, spent: NestedSpending): NestedSpending {
  const costUSD = addCost(sum.costUSD, spent.costUSD);
  const knownCostUSD = knownCostOf(sum) + knownCostOf(spent);
  return {
    usage: addUsage(sum.usage, spent.usage),
    costUSD,
    ...(costUSD === undefined ? { knownCostUSD } : {}),
    toolCallsExecuted: sum.toolCallsExecuted + spent.toolCallsExecuted,
  };
}

/** Sums the spending of nested runs. Returns undefined if nothing was spent. */
export function sumSpending(spent: readonly NestedSpending[]): NestedSpending | undefined {
  if (spent.length === 0) return undefined;
  return spent.reduce(addSpending, { usage: noUsage, costUSD: 0, toolCallsExecuted: 0 });
}

/**
 * Corrects the counts of services that do not include cached tokens in the input tokens, or reasoning tokens in the output
 * tokens. For example, a service reported 7 input tokens and 161 cached tokens. Another service reported 9 output tokens and 61
 * reasoning tokens, and its gateway billed 70 output tokens. If cached tokens exceed the input tokens, the cached tokens are
 * added to the input tokens. Reasoning tokens are added to the output tokens by the same rule. The total becomes at least the sum
 * of input and output. Valid counts do not change.
 */
export function reconcileUsage(usage: Usage): Usage {
  const inputTokens = wholeInput(usage);
  const { outputTokens: output, reasoningTokens: reasoning = 0 } = usage;
  const outputTokens = reasoning > output ? output + reasoning : output;
  return { ...usage, inputTokens, outputTokens, totalTokens: Math.max(usage.totalTokens, inputTokens + outputTokens) };
}

const counts = [
  ["inputTokens", "cachedInputTokens", "cacheWriteTokens"],
  ["outputTokens", "reasoningTokens"],
  ["totalTokens"],
] as const;

/**
 * Merges two usage reports for one stream. The later report is more accurate, because some Gemini models first estimate the input
 * tokens. An earlier count is not replaced by a missing count, or by 0 input or output tokens, which some gateways send at the end.
 */
export function growUsage(before: Usage | undefined, now: Usage): Usage {
  if (before === undefined) return now;
  const usage: { -readonly [Name in keyof Usage]: Usage[Name] } = { ...before };
  for (const names of counts)
    for (const name of names) if (now[names[0]] > 0 && now[name] !== undefined) usage[name] = now[name] ?? 0;
  return reconcileUsage(usage);
}

/**
 * Returns all input tokens. If one of the two cache counts exceeds the input tokens, adds both counts. If only the sum of the two
 * exceeds the input tokens, adds the tokens written to the cache, because every such service already includes the tokens read
 * from the cache.
 */
function wholeInput({ inputTokens: input, cachedInputTokens: read = 0, cacheWriteTokens: written = 0 }: Usage): number {
  if (read > input || written > input) return input + read + written;
  return read + written > input ? input + written : input;
}

/** The part of a run's state that tracks its spending. */
interface Spent {
  usage: Usage;
  costUSD: number | undefined;
  spentUSD: number;
  toolCallsExecuted: number;
}

/**
 * Adds the usage, cost and tool calls of a call's nested runs. Only this function may add them, because they would otherwise be counted
 * twice.
 */
export function applyNested(state: Spent, spent: NestedSpending): void {
  applySpending(state, spent);
  state.toolCallsExecuted += spent.toolCallsExecuted;
}

export function applySpending(state: Spent, spent: Pick<StreamResult, "usage" | "costUSD" | "knownCostUSD">): void {
  if (spent.usage !== undefined) state.usage = addUsage(state.usage, spent.usage);
  state.costUSD = addCost(state.costUSD, spent.costUSD);
  state.spentUSD += knownCostOf(spent);
}
