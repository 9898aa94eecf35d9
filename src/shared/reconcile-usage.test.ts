import { expect, it } from "vitest";
import { reconcileUsage } from "./count-usage.ts";

/** The counts of one usage, written as `input(cached, written) output(reasoning) total`. */
type Row = readonly [input: number, cached: number, written: number, output: number, reasoning: number, total: number];

const toUsage = ([
  inputTokens,
  cachedInputTokens,
  cacheWriteTokens,
  outputTokens,
  reasoningTokens,
  totalTokens,
]: Row): object => ({
  inputTokens,
  cachedInputTokens,
  cacheWriteTokens,
  outputTokens,
  reasoningTokens,
  totalTokens,
});

it.for<[what: string, said: Row, valid: Row]>([
  ["keeps valid counts", [100, 40, 60, 9, 9, 109], [100, 40, 60, 9, 9, 109]],
  ["keeps a total above the sum of input and output", [100, 0, 0, 9, 0, 150], [100, 0, 0, 9, 0, 150]],
  ["raises a smaller total to the sum of input and output", [100, 0, 0, 9, 0, 50], [100, 0, 0, 9, 0, 109]],
  ["adds cached tokens to a smaller input", [7, 161, 0, 8, 0, 15], [168, 161, 0, 8, 0, 176]],
  ["adds cache writes to a smaller input", [7, 3, 100, 8, 0, 15], [110, 3, 100, 8, 0, 118]],
  [
    "adds cache writes to an input that is smaller than cache reads and writes together",
    [1_000, 900, 200, 10, 0, 1_010],
    [1_200, 900, 200, 10, 0, 1_210],
  ],
  ["adds reasoning tokens to a smaller output", [28, 0, 0, 9, 61, 37], [28, 0, 0, 70, 61, 98]],
  ["counts reasoning tokens as output if there is no output", [0, 0, 0, 0, 5, 0], [0, 0, 0, 5, 5, 5]],
])("reconcileUsage: %s", ([, said, valid]) => {
  const once = reconcileUsage(toUsage(said) as never);
  expect(once).toEqual(toUsage(valid));
  expect(reconcileUsage(once)).toEqual(once);
});

it("reconcileUsage: omits missing counts", () => {
  const usage = { inputTokens: 3, outputTokens: 2, totalTokens: 5 };
  expect(Object.keys(reconcileUsage(usage))).toEqual(Object.keys(usage));
});
