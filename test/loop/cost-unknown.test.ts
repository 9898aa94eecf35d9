import { describe, expect, it } from "vitest";
import type { LoopOptions, Pricing } from "turnwright";
import { createMockProvider, toolCall, usage } from "turnwright/testing";
import { play, tool } from "./play.ts";

const pricing: Pricing = ({ totalTokens }) => totalTokens / 4;
const mock = { provider: "mock", model: "mock-model" };
const tools = [tool("t", () => 1)];

describe("a run ended by limits.maxCostUSD", () => {
  const wrong = (gave: string): RegExp => new RegExp(`but returned ${gave}\\.$`);
  it.for<[what: string, why: string, words: string, told: RegExp | undefined, more: Partial<LoopOptions>]>([
    ["no usage", "no-usage", "because the provider reported no usage", undefined, {}],
    ["pricing returns undefined", "no-price", 'because "pricing" returned undefined', undefined, { pricing: () => undefined }],
    [
      "pricing returns NaN",
      "pricing-failed",
      'because "pricing" threw or did not return a number',
      wrong("NaN"),
      { pricing: () => Number.NaN },
    ],
    [
      "pricing returns a negative number",
      "pricing-failed",
      'because "pricing" threw or did not return a number',
      wrong("-1"),
      { pricing: () => -1 },
    ],
    [
      "pricing returns a string",
      "pricing-failed",
      'because "pricing" threw or did not return a number',
      wrong('"0.1"'),
      { pricing: () => "0.1" as unknown as number },
    ],
    [
      "pricing throws",
      "pricing-failed",
      'because "pricing" threw or did not return a number',
      /^No list\.$/,
      {
        pricing: () => {
          throw new Error("No list.");
        },
      },
    ],
  ])("reports the cause of an unknown cost: %s", async ([what, why, words, told, more]) => {
    const provider = createMockProvider([[toolCall("t")]], { usage: what !== "no usage" });
    const playing = play([], { tools, pricing, provider, limits: { maxCostUSD: 1 }, ...more });
    const { reason, error } = await playing.result;
    expect(reason).toEqual({ kind: "cost-unknown", ...mock, iteration: 0, why });
    expect(error?.message).toContain(words);
    const heard = playing.recording.of("listener-error");
    expect(heard.map(({ event }) => event)).toEqual(told === undefined ? [] : ["pricing"]);
    if (told !== undefined) expect(heard[0]?.error.message).toMatch(told);
  });

  it("reports the spent cost, the expected cost and the limit", async () => {
    const { error } = await play([[toolCall("t"), usage({ inputTokens: 4, outputTokens: 0 })]], {
      tools,
      pricing,
      limits: { maxCostUSD: 1.5 },
    }).result;
    expect(error).toEqual({
      name: "CostLimitError",
      message: "The run ended as max-cost: $1 was spent, the next request is expected to cost $1, and the limit is $1.5.",
    });
  });
});
