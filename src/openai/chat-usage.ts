// Token counts of the Chat Completions wire.

import { countOf, isRecord, reconcileUsage, recordOf, type Usage } from "../core/provider-kit.ts";

/**
 * Reads a `usage` object; undefined where it says nothing. Cached tokens are part of `prompt_tokens`. Reasoning tokens are part
 * of `completion_tokens` as OpenAI counts; xAI counts them beside it (recorded: 291 prompt, 26 completion, 196 reasoning, 513
 * in total). The total shows it, and so does reasoning above the completion.
 */
export function toUsage(usage: unknown): Usage | undefined {
  if (!isRecord(usage)) return undefined;
  const prompt = countOf(usage.prompt_tokens);
  const completion = countOf(usage.completion_tokens);
  if (prompt === undefined && completion === undefined) return undefined;
  const total = countOf(usage.total_tokens);
  const inputDetails = recordOf(usage.prompt_tokens_details);
  const reasoningTokens = countOf(recordOf(usage.completion_tokens_details).reasoning_tokens);
  return reconcileUsage({
    ...sumOf({ prompt: prompt ?? 0, completion: completion ?? 0, reasoning: reasoningTokens ?? 0, total }),
    ...withCount("cachedInputTokens", countOf(inputDetails.cached_tokens) ?? countOf(usage.prompt_cache_hit_tokens)),
    ...withCount("cacheWriteTokens", countOf(inputDetails.cache_write_tokens)),
    ...withCount("reasoningTokens", reasoningTokens),
  });
}

interface Counts {
  readonly prompt: number;
  readonly completion: number;
  readonly reasoning: number;
  readonly total: number | undefined;
}

function sumOf({ prompt, completion, reasoning, total }: Counts): Usage {
  const isBeside = total === prompt + completion + reasoning;
  const outputTokens = isBeside ? completion + reasoning : completion;
  return { inputTokens: prompt, outputTokens, totalTokens: total ?? prompt + outputTokens };
}

function withCount(
  name: "cachedInputTokens" | "cacheWriteTokens" | "reasoningTokens",
  count: number | undefined,
): Partial<Usage> {
  return count === undefined ? {} : { [name]: count };
}
