// Providers such as `withRetry` and `withFallback` send a request several times.

import { describe, expect, it } from "vitest";
import { runToolLoop, withFallback } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import { createMockProvider, fail, type MockMessage, text, toolCall, usage } from "turnwright/testing";
import { tool } from "../loop/play.ts";

const tokens = usage({ inputTokens: 2_000, outputTokens: 5 });
const broken: MockMessage = [tokens, fail({ status: 500, message: "Broken." })];
const messages = [{ role: "user" as const, content: "Go." }];

describe("compactMessages with several attempts at one request", () => {
  it.for([
    ["summarize.maxCostUSD: 0.5", 0.5, 100, 1],
    ["summarize.maxCostUSD: 2.5", 2.5, 100, 2],
    ["limits.maxCostUSD: 5", 100, 5, 2],
  ] as const)("makes no further attempt once a summary exceeds %s", async ([, maxCostUSD, limit, expected]) => {
    const small = createMockProvider(() => broken);
    const provider = createMockProvider(({ iteration }) => [
      toolCall("search", { page: iteration }),
      usage({ inputTokens: 1_000 * (iteration + 1), outputTokens: 5 }),
    ]);
    await runToolLoop({
      provider,
      messages,
      tools: [tool("search", () => "x".repeat(3_980))],
      middleware: [
        compactMessages({
          when: 3_500,
          keep: 1_500,
          summarize: { provider: withFallback([small, small, small, small, small]), maxCostUSD },
        }),
      ],
      pricing: () => 1,
      limits: { maxCostUSD: limit, maxIterations: 4 },
    });
    expect(small.calls).toBe(expected);
  });

  it("measures the context by the last attempt, not by the sum of all attempts", async () => {
    let requests = 0;
    const summaries: string[] = [];
    const first = createMockProvider((request) => {
      if (request.purpose === "summary") return summaries.push("asked") > 0 ? text("The summary.") : text("");
      requests += 1;
      return requests === 2 ? broken : [toolCall("search", { page: request.iteration }), tokens];
    });
    const second = createMockProvider(({ iteration }) => [toolCall("search", { page: iteration }), tokens]);
    const result = await runToolLoop({
      provider: withFallback([first, second]),
      messages,
      tools: [tool("search", () => "x".repeat(3_000))],
      middleware: [compactMessages({ when: 3_500, keep: 500 })],
      limits: { maxIterations: 4 },
    });
    expect([second.calls, result.usage.inputTokens, summaries]).toEqual([1, 10_000, []]);
  });
});
