// Token counts as servers send them.

import { expect, it } from "vitest";
import { toUsage } from "./chat-chunks.ts";

it.for<[what: string, wire: unknown, usage: object | undefined]>([
  ["nothing", undefined, undefined],
  ["null", null, undefined],
  ["an empty object", {}, undefined],
  [
    "the three counts",
    { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
  ],
  ["no total", { prompt_tokens: 3, completion_tokens: 2 }, { inputTokens: 3, outputTokens: 2, totalTokens: 5 }],
  ["no completion", { prompt_tokens: 3 }, { inputTokens: 3, outputTokens: 0, totalTokens: 3 }],
  [
    "all details",
    {
      prompt_tokens: 9,
      completion_tokens: 8,
      total_tokens: 17,
      prompt_tokens_details: { cached_tokens: 4, cache_write_tokens: 2 },
      completion_tokens_details: { reasoning_tokens: 5 },
    },
    { inputTokens: 9, outputTokens: 8, totalTokens: 17, cachedInputTokens: 4, cacheWriteTokens: 2, reasoningTokens: 5 },
  ],
  [
    "details that are null",
    { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, prompt_tokens_details: null },
    { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  ],
  [
    "DeepSeek's own cache count",
    { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, prompt_cache_hit_tokens: 8 },
    { inputTokens: 9, outputTokens: 1, totalTokens: 10, cachedInputTokens: 8 },
  ],
  [
    "xAI, which counts reasoning beside the completion",
    { prompt_tokens: 291, completion_tokens: 26, total_tokens: 513, completion_tokens_details: { reasoning_tokens: 196 } },
    { inputTokens: 291, outputTokens: 222, totalTokens: 513, reasoningTokens: 196 },
  ],
  [
    "Azure's Grok, which counts cached tokens beside the prompt",
    { prompt_tokens: 7, completion_tokens: 8, total_tokens: 15, prompt_tokens_details: { cached_tokens: 161 } },
    { inputTokens: 168, outputTokens: 8, totalTokens: 176, cachedInputTokens: 161 },
  ],
  [
    "a gateway to Gemini, which counts reasoning beside the completion and leaves it out of the total",
    { prompt_tokens: 28, completion_tokens: 9, total_tokens: 37, completion_tokens_details: { reasoning_tokens: 61 } },
    { inputTokens: 28, outputTokens: 70, totalTokens: 98, reasoningTokens: 61 },
  ],
  ["numbers that are none", { prompt_tokens: Number.NaN, completion_tokens: -1, total_tokens: "5" }, undefined],
  [
    "one number that is none",
    { prompt_tokens: 3, completion_tokens: "2", total_tokens: Number.POSITIVE_INFINITY },
    { inputTokens: 3, outputTokens: 0, totalTokens: 3 },
  ],
])("reads %s", ([, wire, usage]) => {
  expect(toUsage(wire)).toEqual(usage);
});
