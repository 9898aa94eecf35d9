// Token counts of the Chat Completions wire.

import { isRecord, type UnknownRecord, type Usage } from "../../spi.ts";

/**
 * Reads a `usage` object; undefined where it says nothing. Cached tokens are part of `prompt_tokens`. Reasoning tokens are part
 * of `completion_tokens` as OpenAI counts; xAI counts them beside it (recorded: 291 prompt, 26 completion, 196 reasoning, 513
 * in total), which the total gives away.
 */
export function toUsage(usage: unknown): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const prompt = countOf(usage.prompt_tokens);
  const completion = countOf(usage.completion_tokens);
  if (prompt === undefined && completion === undefined) return undefined;
  const inputTokens = prompt ?? 0;
  const inputDetails = detailsOf(usage.prompt_tokens_details);
  const reasoningTokens = countOf(detailsOf(usage.completion_tokens_details).reasoning_tokens);
  const total = countOf(usage.total_tokens);
  const beside = total !== undefined && total === inputTokens + (completion ?? 0) + (reasoningTokens ?? 0);
  const outputTokens = (completion ?? 0) + (beside ? (reasoningTokens ?? 0) : 0);
  return {
    inputTokens,
    outputTokens,
    totalTokens: total ?? inputTokens + outputTokens,
    ...withCount("cachedInputTokens", countOf(inputDetails.cached_tokens) ?? countOf(usage.prompt_cache_hit_tokens)),
    ...withCount("cacheWriteTokens", countOf(inputDetails.cache_write_tokens)),
    ...withCount("reasoningTokens", reasoningTokens),
  };
}

function detailsOf(details: unknown): UnknownRecord {
  return isRecord(details) ? details : {};
}

function countOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function withCount(name: "cachedInputTokens" | "cacheWriteTokens" | "reasoningTokens", count: number | undefined): Partial<Usage> {
  return count === undefined ? {} : { [name]: count };
}
