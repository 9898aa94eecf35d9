import { describe, expect, it } from "vitest";
import {
  finalAnswer,
  isLoopError,
  type LoopLimits,
  type LoopOptions,
  memoryJournal,
  type Pricing,
  type Provider,
  withFallback,
} from "turnwright";
import type { ToolBudget } from "../../src/core/types/tool.ts";
import { createMockProvider, fail, finish, type MockMessage, text, toolCall, usage } from "turnwright/testing";
import { outcomesOf, play, tool } from "./play.ts";
import { kinds, nesting, question } from "./nested/nesting.ts";

const pricing: Pricing = ({ totalTokens }) => (totalTokens === 99 ? undefined : totalTokens / 4);
const spend = (tokens: number): ReturnType<typeof usage> => usage({ inputTokens: tokens, outputTokens: 0 });
const work = (tokens: number): MockMessage => [text("Well. "), toolCall("t"), spend(tokens)];
const mock = { provider: "mock", model: "mock-model" };
const tools = [tool("t", () => 1)];

interface Ended {
  readonly reason: object;
  readonly requests: number;
  readonly costUSD: number | undefined;
  readonly exceeded: boolean;
}

async function run(script: readonly MockMessage[], more: Partial<LoopOptions>): Promise<Ended> {
  const playing = play(script, { tools, pricing, ...more });
  const { reason, costUSD, budgetExceeded, journal } = await playing.result;
  const again = play([], {
    ...playing.options,
    provider: createMockProvider([]),
    journal: memoryJournal(JSON.parse(JSON.stringify(journal))),
  });
  const replayed = await again.result;
  expect([replayed.reason, replayed.costUSD, replayed.budgetExceeded]).toEqual([reason, costUSD, budgetExceeded]);
  return { reason, requests: playing.provider.calls, costUSD, exceeded: budgetExceeded };
}

describe("limits.maxCostUSD", () => {
  it.for<[what: string, limits: LoopLimits, script: readonly MockMessage[], ended: Ended]>([
    [
      "allows one more stream that would exactly reach the limit",
      { maxCostUSD: 0.75 },
      [work(1), work(1), work(1)],
      {
        reason: { kind: "max-cost", limitUSD: 0.75, spentUSD: 0.75, expectedUSD: 0.25 },
        requests: 3,
        costUSD: 0.75,
        exceeded: false,
      },
    ],
    [
      "ends the run if a stream as expensive as the last stream would exceed the limit",
      { maxCostUSD: 0.74 },
      [work(1), work(1)],
      {
        reason: { kind: "max-cost", limitUSD: 0.74, spentUSD: 0.5, expectedUSD: 0.25 },
        requests: 2,
        costUSD: 0.5,
        exceeded: false,
      },
    ],
    [
      "expects the next stream to cost as much as the last stream, not the most expensive one",
      { maxCostUSD: 2 },
      [work(4), work(1), work(1), [text("Done."), spend(99)]],
      { reason: { kind: "answered" }, requests: 4, costUSD: undefined, exceeded: false },
    ],
    [
      "keeps an answer that crosses the limit",
      { maxCostUSD: 0.5 },
      [[text("Dear."), spend(4)]],
      { reason: { kind: "answered" }, requests: 1, costUSD: 1, exceeded: true },
    ],
    [
      "runs the calls of an iteration that crosses the limit, then sends no request",
      { maxCostUSD: 0.5 },
      [work(4)],
      { reason: { kind: "max-cost", limitUSD: 0.5, spentUSD: 1, expectedUSD: 1 }, requests: 1, costUSD: 1, exceeded: true },
    ],
    [
      "allows one request if the limit is 0",
      { maxCostUSD: 0 },
      [work(1)],
      {
        reason: { kind: "max-cost", limitUSD: 0, spentUSD: 0.25, expectedUSD: 0.25 },
        requests: 1,
        costUSD: 0.25,
        exceeded: true,
      },
    ],
    [
      "ends the run if a cost is unknown",
      { maxCostUSD: 5 },
      [work(1), work(99)],
      {
        reason: { kind: "cost-unknown", ...mock, iteration: 1, why: "no-price" },
        requests: 2,
        costUSD: undefined,
        exceeded: false,
      },
    ],
    [
      "keeps an answer whose cost is unknown",
      { maxCostUSD: 5 },
      [[text("Hi."), spend(99)]],
      { reason: { kind: "answered" }, requests: 1, costUSD: undefined, exceeded: false },
    ],
    [
      "counts only known costs with onUnknownCost: continue",
      { maxCostUSD: 0.5, onUnknownCost: "continue" },
      [work(1), work(99), work(1)],
      {
        reason: { kind: "max-cost", limitUSD: 0.5, spentUSD: 0.5, expectedUSD: 0.25 },
        requests: 3,
        costUSD: undefined,
        exceeded: false,
      },
    ],
    [
      "is checked before each continuation of a paused message",
      { maxCostUSD: 0.5 },
      [
        [text("a"), spend(1), finish("paused")],
        [text("b"), spend(1), finish("paused")],
      ],
      {
        reason: { kind: "max-cost", limitUSD: 0.5, spentUSD: 0.5, expectedUSD: 0.25 },
        requests: 2,
        costUSD: 0.5,
        exceeded: false,
      },
    ],
    [
      "is not reported if maxIterations is reached too",
      { maxCostUSD: 0.25, maxIterations: 1 },
      [work(1)],
      { reason: { kind: "max-iterations", limit: 1 }, requests: 1, costUSD: 0.25, exceeded: false },
    ],
    [
      "is reported instead of maxTokens if both are reached",
      { maxCostUSD: 0.25, maxTokens: 1 },
      [work(1)],
      {
        reason: { kind: "max-cost", limitUSD: 0.25, spentUSD: 0.25, expectedUSD: 0.25 },
        requests: 1,
        costUSD: 0.25,
        exceeded: false,
      },
    ],
  ])("%s", async ([, limits, script, ended]) => {
    expect(await run(script, { limits })).toEqual(ended);
  });

  it("counts the known costs of a stream's attempts even if another attempt's cost is unknown", async () => {
    const broken = createMockProvider(() => [text("Half"), fail({ status: 500, message: "The connection broke." })]);
    const working = createMockProvider(() => work(1));
    const limits: LoopLimits = { maxCostUSD: 0.5, onUnknownCost: "continue" };
    const { result } = play([], { provider: withFallback([broken, working]), tools, pricing, limits });
    const { reason, costUSD, knownCostUSD, streamResults } = await result;
    expect(reason).toEqual({ kind: "max-cost", limitUSD: 0.5, spentUSD: 0.5, expectedUSD: 0.25 });
    expect([costUSD, knownCostUSD, working.calls]).toEqual([undefined, 0.5, 2]);
    expect(streamResults.map((stream) => [stream.costUSD, stream.knownCostUSD])).toEqual([
      [undefined, 0.25],
      [undefined, 0.25],
    ]);
  });

  it.for([-1, Number.NaN, "a lot"])('treats the price "%s" as unknown', async (price) => {
    const ended = await run([work(1)], { limits: { maxCostUSD: 1 }, pricing: () => price as number });
    expect(ended.reason).toEqual({ kind: "cost-unknown", ...mock, iteration: 0, why: "pricing-failed" });
  });

  it.for<[title: string, granted: boolean, limits: LoopLimits]>([
    [
      "requests a final answer that is expected to cost exactly the rest of the limit",
      true,
      { maxIterations: 1, maxCostUSD: 0.5 },
    ],
    ["requests no final answer that is expected to exceed the limit by a cent", false, { maxIterations: 1, maxCostUSD: 0.49 }],
    ["requests no final answer if limits.maxTokens is used up", false, { maxIterations: 1, maxTokens: 1 }],
    ["requests a final answer if one token of limits.maxTokens is left", true, { maxIterations: 1, maxTokens: 2 }],
    ["requests no final answer if limits.maxCostUSD itself ends the run", false, { maxCostUSD: 0.25 }],
    ["requests no final answer if limits.maxTokens itself ends the run", false, { maxTokens: 1 }],
  ])("together with finalAnswer, %s", async ([, granted, limits]) => {
    const playing = play([work(1), text("In short.")], { tools, pricing, limits, middleware: [finalAnswer()] });
    const result = await playing.result;
    expect([result.finalAnswer, result.text, playing.provider.calls]).toEqual(
      granted ? [true, "In short.", 2] : [false, "Well.", 1],
    );
    expect(result.status).not.toBe("completed");
  });
});

describe("limits.maxCostUSD with nested runs", () => {
  it.for(kinds)("limits an %s's nested run to the outer run's remaining budget", async (kind) => {
    const budgets: ToolBudget[] = [];
    const inner = createMockProvider([work(1), work(1), work(1)]);
    const agent = nesting(kind, "agent", (_, { budget }) => {
      budgets.push(budget);
      return { messages: question, provider: inner, tools };
    });
    const result = await play([[toolCall("agent"), spend(1)]], { tools: [agent], pricing, limits: { maxCostUSD: 0.75 } }).result;
    expect(budgets.map(({ costUSD }) => costUSD)).toEqual([0.5]);
    expect([result.reason, result.costUSD, inner.calls]).toEqual([
      { kind: "max-cost", limitUSD: 0.75, spentUSD: 0.75, expectedUSD: 0.25 },
      0.75,
      2,
    ]);
    expect(outcomesOf(result)).toEqual(["call_i0_0: failed"]);
    expect(JSON.stringify(result.messages)).toContain("error: max-cost");
  });

  it.for(kinds)("ends the nested run of an %s and the outer run if a cost is unknown", async (kind) => {
    const inner = createMockProvider([work(99)]);
    const agent = nesting(kind, "agent", () => ({ messages: question, provider: inner, tools }));
    const result = await play([[toolCall("agent"), spend(1)]], { tools: [agent], pricing, limits: { maxCostUSD: 9 } }).result;
    expect([result.reason, inner.calls]).toEqual([{ kind: "cost-unknown" }, 1]);
  });

  it.for(kinds)("counts the known cost of the nested run of an %s", async (kind) => {
    const inner = createMockProvider([work(99), work(2)]);
    const agent = nesting(kind, "agent", () => ({ messages: question, provider: inner, tools }));
    const limits: LoopLimits = { maxCostUSD: 1, onUnknownCost: "continue" };
    const result = await play([[toolCall("agent"), spend(2)]], { tools: [agent], pricing, limits }).result;
    expect([result.reason, result.costUSD]).toEqual([
      { kind: "max-cost", limitUSD: 1, spentUSD: 1, expectedUSD: 0.5 },
      undefined,
    ]);
  });
});

it.for<[title: string, options: Partial<LoopOptions>, option: string]>([
  ["maxCostUSD without pricing", { limits: { maxCostUSD: 1 } }, "pricing"],
  ["a negative maxCostUSD", { limits: { maxCostUSD: -1 }, pricing }, "limits.maxCostUSD"],
  ["a maxCostUSD that is NaN", { limits: { maxCostUSD: Number.NaN }, pricing }, "limits.maxCostUSD"],
  ["a maxCostUSD that is a string", { limits: { maxCostUSD: "1" as never }, pricing }, "limits.maxCostUSD"],
  ["an unknown onUnknownCost", { limits: { onUnknownCost: "stop" as never } }, "limits.onUnknownCost"],
])("runToolLoop rejects %s", async ([, options, option]) => {
  const { result, provider } = play([], options);
  const thrown: unknown = await result.catch((error: unknown) => error);
  expect([isLoopError(thrown, "invalid-option") && thrown.details.option, provider.calls]).toEqual([option, 0]);
});

it('a run that ends as "cost-unknown" names the discarded attempt that reported no usage', async () => {
  const first = createMockProvider([[text("half"), fail({ status: 500 })]], { id: "a", model: "large" });
  const second = createMockProvider([work(1)], { id: "b", model: "small" });
  const ended = await run([], { provider: withFallback([first, second]), limits: { maxCostUSD: 5 } });
  expect(ended.reason).toEqual({ kind: "cost-unknown", provider: "a", model: "large", iteration: 0, why: "no-usage" });
});

it('a run with limits.maxCostUSD ends as "cost-unknown" if its provider reports no usage', async () => {
  const provider: Provider = {
    id: "p",
    model: "m",
    async *stream() {
      yield { type: "call-ready", key: "k", name: "t", args: {} };
      yield { type: "finish", reason: "tool-calls" };
    },
  };
  const result = await play([], { provider, tools, pricing: () => 1, limits: { maxCostUSD: 9 } }).result;
  expect([result.reason.kind, result.costUSD]).toEqual(["cost-unknown", undefined]);
});

it("limits.maxCostUSD set to Infinity needs no pricing", async () => {
  const limits = { maxCostUSD: Number.POSITIVE_INFINITY };
  expect((await play([work(1), text("Hi.")], { tools, limits }).result).reason.kind).toBe("answered");
});
