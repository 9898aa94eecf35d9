// Token counts, which are snapshots.

import { expect, it } from "vitest";
import { countUsage } from "./messages-usage.ts";

it("counts are replaced, and kept where they are null or absent", () => {
  const counts = countUsage();
  expect(counts.add({ input_tokens: 10, cache_creation_input_tokens: 5, cache_read_input_tokens: 20, output_tokens: 1 })).toEqual(
    { inputTokens: 35, outputTokens: 1, totalTokens: 36, cachedInputTokens: 20, cacheWriteTokens: 5 },
  );
  expect(
    counts.add({
      input_tokens: null,
      cache_read_input_tokens: 30,
      output_tokens: 7,
      output_tokens_details: { thinking_tokens: 4 },
    }),
  ).toEqual({
    inputTokens: 45,
    outputTokens: 7,
    totalTokens: 52,
    cachedInputTokens: 30,
    cacheWriteTokens: 5,
    reasoningTokens: 4,
  });
  expect(counts.add({ output_tokens: 8 })).toMatchObject({ inputTokens: 45, outputTokens: 8, totalTokens: 53 });
});

it.for<[usage: unknown, sum: unknown]>([
  [undefined, undefined],
  [null, undefined],
  [{}, undefined],
  [{ input_tokens: "9", output_tokens: -1 }, undefined],
  [{ output_tokens: 2 }, { inputTokens: 0, outputTokens: 2, totalTokens: 2 }],
  [{ input_tokens: 3 }, { inputTokens: 3, outputTokens: 0, totalTokens: 3 }],
])("%j is read as %j", ([usage, sum]) => {
  expect(countUsage().add(usage)).toEqual(sum);
});
