import { expect, it } from "vitest";
import type { Usage } from "../core/index.ts";
import { GenerateUsage } from "./generate-events.ts";

it.for<[metadata: unknown, usage: Usage | undefined]>([
  [undefined, undefined],
  ["many", undefined],
  [{ trafficType: "ON_DEMAND" }, undefined],
  [{ totalTokenCount: 5 }, undefined],
  [{ promptTokenCount: -1, candidatesTokenCount: "2" }, undefined],
  [{ promptTokenCount: 3 }, { inputTokens: 3, outputTokens: 0, totalTokens: 3 }],
  [
    { promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5 },
    { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
  ],
  [
    {
      promptTokenCount: 10,
      cachedContentTokenCount: 8,
      candidatesTokenCount: 2,
      thoughtsTokenCount: 4,
      toolUsePromptTokenCount: 5,
    },
    { inputTokens: 15, outputTokens: 6, totalTokens: 21, cachedInputTokens: 8, reasoningTokens: 4 },
  ],
  [
    { promptTokenCount: 3, thoughtsTokenCount: 4, totalTokenCount: 9, initialPromptTokenCount: 1 },
    { inputTokens: 3, outputTokens: 4, totalTokens: 9, reasoningTokens: 4 },
  ],
])("googleGenerateContent: reads the usageMetadata %j as %j", ([metadata, usage]) => {
  expect(new GenerateUsage().add(metadata)).toEqual(usage);
});

it("googleGenerateContent: keeps the earlier value of a missing token count", () => {
  const counts = new GenerateUsage();
  counts.add({ promptTokenCount: 9, candidatesTokenCount: 2, thoughtsTokenCount: 4, totalTokenCount: 15 });
  expect(counts.add({ thoughtsTokenCount: 5, totalTokenCount: 8 })).toEqual({
    inputTokens: 9,
    outputTokens: 7,
    totalTokens: 16,
    reasoningTokens: 5,
  });
  expect(counts.add({ trafficType: "ON_DEMAND" })).toBeUndefined();
});
