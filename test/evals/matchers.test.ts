import { defineTool, type LoopResult, runToolLoop } from "turnwright";
import { type EvalMatchers, evalMatchers, toHarnessResult } from "turnwright/evals";
import { createMockProvider, fail, text, toolCall, usage } from "turnwright/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

declare module "vitest" {
  interface Matchers<T> extends EvalMatchers<T> {}
}

const refund = defineTool({
  name: "refund",
  description: "Pays back",
  inputSchema: z.object({ order: z.number(), note: z.string().optional() }),
  execute: () => ({ paid: true }),
});
let result: LoopResult;

beforeAll(async () => {
  expect.extend(evalMatchers as never);
  const provider = createMockProvider([
    [toolCall("refund", { order: 7, note: "late" }, { id: "call_1" }), usage({ inputTokens: 60, outputTokens: 10 })],
    [text("Paid."), usage({ inputTokens: 25, outputTokens: 5 })],
  ]);
  result = await runToolLoop({ provider, tools: [refund], messages: [{ role: "user", content: "Refund 7" }] });
});

describe("evalMatchers", () => {
  it("accept a run that meets the expectations", () => {
    expect(result).toHaveCalled("refund");
    expect(result).toHaveCalled("refund", { order: 7 });
    expect(result).toHaveCalled("refund", { note: expect.stringContaining("late") });
    expect(result).not.toHaveCalled("lookup");
    expect(result).toEndAs("completed");
    expect(result).toEndAs("answered");
    expect(result).toStayWithin({ iterations: 2, toolCalls: 1, tokens: 100 });
  });

  it.each([
    [
      "a different argument",
      () => expect(result).toHaveCalled("refund", { order: 8 }),
      'Expected the run to call refund with {"order":8}. Its calls: refund({"order":7,"note":"late"}).',
    ],
    [
      "an unwanted call",
      () => expect(result).not.toHaveCalled("refund"),
      'Expected the run not to call refund. Its calls: refund({"order":7,"note":"late"}).',
    ],
    [
      "a different ending",
      () => expect(result).toEndAs("max-iterations"),
      "Expected the run to end as max-iterations. It ended as completed (answered).",
    ],
    [
      "too many tokens",
      () => expect(result).toStayWithin({ iterations: 2, tokens: 99 }),
      'Expected the run to stay within {"iterations":2,"tokens":99}. It used tokens 100 of 99.',
    ],
    [
      "an unknown cost",
      () => expect(result).toStayWithin({ costUSD: 1 }),
      'Expected the run to stay within {"costUSD":1}. It used costUSD unknown of $1.00.',
    ],
    [
      "a promise",
      () => expect(Promise.resolve(result)).toEndAs("completed"),
      "The matcher toEndAs needs the result of a run. Await the run first",
    ],
    [
      "an unknown bound",
      () => expect(result).toStayWithin({ calls: 1 } as never),
      'toStayWithin has no bound "calls". Use one of these bounds: iterations, toolCalls',
    ],
  ])("explain %s", (_name, assertion, message) => {
    expect(assertion).toThrow(message);
  });
});

describe("toHarnessResult", () => {
  it("contains the transcript, the calls and the usage", () => {
    expect(toHarnessResult(result)).toEqual({
      output: "Paid.",
      events: [
        { type: "message", role: "user", content: "Refund 7" },
        { type: "tool_call", id: "call_1", name: "refund", arguments: { order: 7, note: "late" } },
        { type: "tool_result", toolCallId: "call_1", name: "refund", content: { paid: true } },
        { type: "message", role: "assistant", content: "Paid." },
      ],
      usage: {
        provider: "mock",
        model: "mock-model",
        inputTokens: 85,
        outputTokens: 15,
        reasoningTokens: 0,
        totalTokens: 100,
        toolCalls: 1,
        metadata: { cachedInputTokens: 0, costUSD: null },
      },
      timings: { totalMs: expect.any(Number) },
      errors: [],
    });
  });

  it("contains the cached tokens and the cost, for assertions about them", async () => {
    const cached = await runToolLoop({
      provider: createMockProvider([
        [text("Paid."), usage({ inputTokens: 90, outputTokens: 10, cachedInputTokens: 60, reasoningTokens: 4 })],
      ]),
      messages: [{ role: "user", content: "?" }],
      pricing: () => 0.25,
    });
    expect(toHarnessResult(cached).usage).toMatchObject({
      reasoningTokens: 4,
      metadata: { cachedInputTokens: 60, costUSD: 0.25 },
    });
  });

  it("contains a failed run's error", async () => {
    const failed = await runToolLoop({
      provider: createMockProvider([fail({ status: 503, message: "Overloaded" })]),
      messages: [{ role: "user", content: "?" }],
    });
    expect(toHarnessResult(failed)).toMatchObject({ output: "", errors: [{ message: "Overloaded" }] });
  });
});
