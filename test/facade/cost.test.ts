import { describe, expect, it } from "vitest";
import { CostLimitError, type Pricing } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { endedBy, generate } from "./play.ts";

const pricing: Pricing = () => 0.25;

describe("generateWithTools with maxCostUSD", () => {
  it("throws CostLimitError with the result before an iteration that would exceed the limit", async () => {
    const { provider, executed, result } = generate(() => [text("On it."), toolCall("a")], { maxCostUSD: 0.6, pricing });
    const error = await endedBy(result);
    expect(error).toBeInstanceOf(CostLimitError);
    expect(error.reason).toEqual({ kind: "max-cost", limitUSD: 0.6, spentUSD: 0.5, expectedUSD: 0.25 });
    expect(error.message).toBe(
      "The run ended as error (max-cost): $0.5 was spent, the next request is expected to cost $0.25, and the limit is $0.6.",
    );
    expect(error.result).toMatchObject({ text: "On it.", costUSD: 0.5, toolCallsExecuted: 2 });
    expect([provider.calls, executed.length]).toEqual([2, 2]);
  });

  it("completes a run that reaches the limit exactly", async () => {
    const { result } = generate([toolCall("a"), text("Done.")], { maxCostUSD: 0.5, pricing });
    expect(await result).toMatchObject({ text: "Done.", costUSD: 0.5, budgetExceeded: false });
  });

  it("returns an answer even if its cost exceeded the limit", async () => {
    const { result } = generate([text("Done.")], { maxCostUSD: 0.2, pricing });
    expect(await result).toMatchObject({ text: "Done.", costUSD: 0.25, budgetExceeded: true });
  });

  it("throws CostLimitError if the cost of an iteration is unknown", async () => {
    const error = await endedBy(generate(() => toolCall("a"), { maxCostUSD: 1, pricing: () => undefined }).result);
    expect(error).toBeInstanceOf(CostLimitError);
    expect(error.reason).toEqual({ kind: "cost-unknown", provider: "mock", model: "mock-model", iteration: 0, why: "no-price" });
    expect(error.message).toContain('the cost of iteration 0 with model "mock-model" from provider "mock" is unknown');
  });

  it("throws IterationLimitError if maxIterations is reached first", async () => {
    const error = await endedBy(generate(() => toolCall("a"), { maxCostUSD: 100, pricing, maxIterations: 2 }).result);
    expect([error.name, error.result.costUSD]).toEqual(["IterationLimitError", 0.5]);
  });
});
