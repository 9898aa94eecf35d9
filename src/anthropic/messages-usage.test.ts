import { expect, it } from "vitest";
import { MessagesUsage } from "./messages-events.ts";

it("anthropicMessages: replaces earlier token counts unless the new counts are null or absent", () => {
  const counts = new MessagesUsage();
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

it("anthropicMessages: adds the token counts of compactions to those of the message", () => {
  const counts = new MessagesUsage();
  const compaction = { type: "compaction", input_tokens: 100, cache_read_input_tokens: 55_000, output_tokens: 80 };
  const message = { type: "message", input_tokens: 180, cache_read_input_tokens: 3, output_tokens: 8 };
  counts.add({ input_tokens: 100, cache_read_input_tokens: 55_000, output_tokens: 7 });
  const last = { ...message, iterations: [compaction, compaction, message, null, { type: "novelty", input_tokens: 9 }] };
  const sum = {
    inputTokens: 180 + 3 + 2 * 55_100,
    outputTokens: 168,
    totalTokens: 180 + 3 + 2 * 55_100 + 168,
    cachedInputTokens: 110_003,
  };
  expect(counts.add(last)).toEqual(sum);
  expect(counts.add(last)).toEqual(sum);
  expect(counts.add({ iterations: null })).toEqual(sum);
});

it.for<[usage: unknown, sum: unknown]>([
  [undefined, undefined],
  [null, undefined],
  [{}, undefined],
  [{ input_tokens: "9", output_tokens: -1 }, undefined],
  [{ output_tokens: 2 }, { inputTokens: 0, outputTokens: 2, totalTokens: 2 }],
  [{ input_tokens: 3 }, { inputTokens: 3, outputTokens: 0, totalTokens: 3 }],
])("anthropicMessages: reads the usage %j as %j", ([usage, sum]) => {
  expect(new MessagesUsage().add(usage)).toEqual(sum);
});
