import { expect, it } from "vitest";
import { toUsage } from "./chat-usage.ts";

it.for<[what: string, wire: unknown, usage: object | undefined]>([
  ["missing usage as undefined", undefined, undefined],
  ["null usage as undefined", null, undefined],
  ["empty usage as undefined", {}, undefined],
  [
    "the three token counts",
    { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
    { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
  ],
  [
    "token counts without a total",
    { prompt_tokens: 3, completion_tokens: 2 },
    { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
  ],
  ["a prompt count without other counts", { prompt_tokens: 3 }, { inputTokens: 3, outputTokens: 0, totalTokens: 3 }],
  [
    "all details of token counts",
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
    "token counts whose details are null",
    { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2, prompt_tokens_details: null },
    { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
  ],
  [
    "the cached tokens in DeepSeek's prompt_cache_hit_tokens",
    { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10, prompt_cache_hit_tokens: 8 },
    { inputTokens: 9, outputTokens: 1, totalTokens: 10, cachedInputTokens: 8 },
  ],
  [
    "reasoning tokens that completion_tokens exclude (xAI)",
    { prompt_tokens: 291, completion_tokens: 26, total_tokens: 513, completion_tokens_details: { reasoning_tokens: 196 } },
    { inputTokens: 291, outputTokens: 222, totalTokens: 513, reasoningTokens: 196 },
  ],
  [
    "cached tokens that prompt_tokens exclude (Grok on Azure)",
    { prompt_tokens: 7, completion_tokens: 8, total_tokens: 15, prompt_tokens_details: { cached_tokens: 161 } },
    { inputTokens: 168, outputTokens: 8, totalTokens: 176, cachedInputTokens: 161 },
  ],
  [
    "reasoning tokens that completion and total exclude (gateway to Gemini)",
    { prompt_tokens: 28, completion_tokens: 9, total_tokens: 37, completion_tokens_details: { reasoning_tokens: 61 } },
    { inputTokens: 28, outputTokens: 70, totalTokens: 98, reasoningTokens: 61 },
  ],
  ["invalid token counts as undefined", { prompt_tokens: Number.NaN, completion_tokens: -1, total_tokens: "5" }, undefined],
  [
    "a valid token count, and ignores invalid counts",
    { prompt_tokens: 3, completion_tokens: "2", total_tokens: Number.POSITIVE_INFINITY },
    { inputTokens: 3, outputTokens: 0, totalTokens: 3 },
  ],
])("openaiChat: reads %s", ([, wire, usage]) => {
  expect(toUsage(wire)).toEqual(usage);
});
