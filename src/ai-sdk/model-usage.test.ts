import { describe, expect, it } from "vitest";
import type { AiSdkLanguageModel } from "./model-options.ts";
import { readModelUsage } from "./model-end.ts";

const modelOf = (provider: string): AiSdkLanguageModel => ({
  specificationVersion: "v2",
  provider,
  modelId: "m",
  supportedUrls: {},
  doStream: () => Promise.reject(new Error("Not asked for.")),
});
const usage = (inputTokens: number, outputTokens: number, more: object = {}): object => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens,
  ...more,
});

describe("aiSdkModel with token usage from the AI SDK", () => {
  it.for<[what: string, provider: string, counts: unknown, expected: object | undefined]>([
    ["the totals of specification v2", "openai.chat", { inputTokens: 10, outputTokens: 4, totalTokens: 14 }, usage(10, 4)],
    [
      "the details of specification v2",
      "openai.chat",
      { inputTokens: 10, outputTokens: 4, totalTokens: 14, cachedInputTokens: 8, reasoningTokens: 3 },
      usage(10, 4, { cachedInputTokens: 8, reasoningTokens: 3 }),
    ],
    [
      "v2 reasoning tokens that only the total includes (Google)",
      "google.generative-ai",
      { inputTokens: 26, outputTokens: 50, totalTokens: 1_620, reasoningTokens: 1_544 },
      usage(26, 1_594, { reasoningTokens: 1_544 }),
    ],
    [
      "v2 cached tokens that the input excludes (Anthropic)",
      "anthropic.messages",
      { inputTokens: 10, outputTokens: 4, totalTokens: 14, cachedInputTokens: 8 },
      usage(18, 4, { cachedInputTokens: 8 }),
    ],
    [
      "v2 counts with more cached tokens than input tokens",
      "bedrock",
      { inputTokens: 10, outputTokens: 4, cachedInputTokens: 90 },
      usage(100, 4, { cachedInputTokens: 90 }),
    ],
    [
      "undefined v2 counts as no usage",
      "openai.chat",
      { inputTokens: undefined, outputTokens: undefined, totalTokens: undefined },
      undefined,
    ],
    [
      "the totals of specifications v3 and v4",
      "anthropic.messages",
      {
        inputTokens: { total: 10, noCache: 1, cacheRead: 8, cacheWrite: 1 },
        outputTokens: { total: 4, text: 1, reasoning: 3 },
      },
      usage(10, 4, { cachedInputTokens: 8, cacheWriteTokens: 1, reasoningTokens: 3 }),
    ],
    [
      "the details of v3 and v4 without totals",
      "x",
      { inputTokens: { noCache: 1, cacheRead: 8, cacheWrite: 2 }, outputTokens: { text: 1, reasoning: 3 } },
      usage(11, 4, { cachedInputTokens: 8, cacheWriteTokens: 2, reasoningTokens: 3 }),
    ],
    ["input tokens without output tokens", "x", { inputTokens: { total: 3 }, outputTokens: {} }, usage(3, 0)],
    ["token counts of 0", "x", { inputTokens: { total: 0 }, outputTokens: { total: 0 } }, usage(0, 0)],
    [
      "undefined v3 and v4 totals as no usage",
      "x",
      { inputTokens: { total: undefined }, outputTokens: { total: undefined } },
      undefined,
    ],
    [
      "negative and NaN token counts as no usage",
      "x",
      { inputTokens: { total: -1 }, outputTokens: { total: Number.NaN } },
      undefined,
    ],
    ["undefined as no usage", "x", undefined, undefined],
  ])("reads %s", ([, provider, counts, expected]) => {
    expect(readModelUsage(counts, modelOf(provider))).toEqual(expected);
  });
});
