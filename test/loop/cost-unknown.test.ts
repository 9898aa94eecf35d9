// A limit of cost that ends a run says why, in the reason and in the error of the result.

import { describe, expect, it } from "vitest";
import type { LoopOptions, Pricing } from "turnwright";
import { createMockProvider, toolCall, usage } from "turnwright/testing";
import { play, tool } from "./play.ts";

const pricing: Pricing = ({ totalTokens }) => totalTokens / 4;
const mock = { provider: "mock", model: "mock-model" };
const tools = [tool("t", () => 1)];

describe("a run whose cost is not known", () => {
  const wrong = (gave: string): RegExp => new RegExp(`but gave ${gave}\\.$`);
  it.for<[what: string, why: string, words: string, told: RegExp | undefined, more: Partial<LoopOptions>]>([
    ["no usage", "no-usage", "because the provider reported no usage", undefined, {}],
    ["no price", "no-price", 'because "pricing" gave undefined', undefined, { pricing: () => undefined }],
    ["NaN", "pricing-failed", 'because "pricing" threw or gave no number', wrong("NaN"), { pricing: () => Number.NaN }],
    ["a negative price", "pricing-failed", 'because "pricing" threw or gave no number', wrong("-1"), { pricing: () => -1 }],
    [
      "a string",
      "pricing-failed",
      'because "pricing" threw or gave no number',
      wrong('"0.1"'),
      { pricing: () => "0.1" as unknown as number },
    ],
    [
      "a throw",
      "pricing-failed",
      'because "pricing" threw or gave no number',
      /^No list\.$/,
      {
        pricing: () => {
          throw new Error("No list.");
        },
      },
    ],
  ])("says why: %s", async ([what, why, words, told, more]) => {
    const provider = createMockProvider([[toolCall("t")]], { usage: what !== "no usage" });
    const playing = play([], { tools, pricing, provider, limits: { maxCostUSD: 1 }, ...more });
    const { reason, error } = await playing.result;
    expect(reason).toEqual({ kind: "cost-unknown", ...mock, iteration: 0, why });
    expect(error?.message).toContain(words);
    const heard = playing.recording.of("listener-error");
    expect(heard.map(({ event }) => event)).toEqual(told === undefined ? [] : ["pricing"]);
    if (told !== undefined) expect(heard[0]?.error.message).toMatch(told);
  });

  it("has an error too where the limit is reached", async () => {
    const { error } = await play([[toolCall("t"), usage({ inputTokens: 4, outputTokens: 0 })]], {
      tools,
      pricing,
      limits: { maxCostUSD: 1.5 },
    }).result;
    expect(error).toEqual({
      name: "CostLimitError",
      message: "The run ended as max-cost: $1 is spent, one more stream is taken to cost $1, and the limit is $1.5.",
    });
  });
});
