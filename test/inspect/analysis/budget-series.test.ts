import { defineAgentTool, type LoopOptions } from "turnwright";
import { parseRunLog } from "turnwright/inspect";
import { createMockProvider, createTestClock, text, toolCall, usage, wait } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import {
  budgetSeriesOf,
  activeMsOf,
  activeMsUntil,
  addTotals,
  cacheShareOf,
  executionsOf,
  noTotals,
  totalsOf,
} from "../../../src/inspect/analysis/run-totals.ts";
import { logRun, lookUp } from "../log-run.ts";

const spent = usage({ inputTokens: 100, outputTokens: 10 });

const ask = defineAgentTool({
  name: "ask",
  description: "Asks",
  inputSchema: { type: "object" },
  prepare: () => ({
    messages: [{ role: "user", content: "Inner." }],
    provider: createMockProvider([
      [toolCall("look_up"), spent],
      [text("Inner answer."), spent],
    ]),
    tools: [lookUp],
  }),
});

async function logNested(more: Partial<LoopOptions> = {}): Promise<Awaited<ReturnType<typeof logRun>>> {
  const clock = createTestClock(1_700_000_000_000);
  const provider = createMockProvider([
    [wait(100), toolCall("look_up"), toolCall("ask", { n: 1 }), spent],
    [wait(50), toolCall("missing"), spent],
    [wait(25), text("Done."), spent],
  ]);
  const options: LoopOptions = {
    provider,
    tools: [lookUp, ask],
    messages: [{ role: "user", content: "Go." }],
    pricing: () => 0.25,
    clock,
    ...more,
  };
  const logged = logRun(options, { clock });
  await clock.runAll();
  return logged;
}

describe("budgetSeriesOf", () => {
  it("returns the total spent after each iteration, including nested runs", async () => {
    const { log, result } = await logNested({ limits: { maxTokens: 1_000, maxCostUSD: 2, maxToolCalls: Infinity } });
    const [series] = log.runs.map(budgetSeriesOf);
    expect(series).toEqual({
      limits: { tokens: 1_000, costUSD: 2 },
      points: [
        { label: "Iteration 0", iterations: 1, tokens: 330, costUSD: 0.75, toolCalls: 3, activeMs: 100 },
        { label: "Iteration 1", iterations: 2, tokens: 440, costUSD: 1, toolCalls: 3, activeMs: 150 },
        { label: "Iteration 2", iterations: 3, tokens: 550, costUSD: 1.25, toolCalls: 3, activeMs: 175 },
      ],
    });
    const { usage: total, costUSD, iterations, toolCallsExecuted: toolCalls, durationMs: activeMs } = result;
    expect(series?.points.at(-1)).toMatchObject({ tokens: total.totalTokens, costUSD, iterations, toolCalls, activeMs });
  });

  it("returns no cost if the run has no prices", async () => {
    const { log } = await logNested({ pricing: undefined });
    expect(log.runs.flatMap((run) => budgetSeriesOf(run).points.map(({ costUSD }) => costUSD))).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("does not return a point for an iteration that has not ended", async () => {
    const { lines } = await logNested();
    const cut = lines.slice(0, lines.findIndex((line) => line.includes('"iteration-end"') && line.includes('"run":0')) + 2);
    const log = parseRunLog(cut.join(""));
    expect(log.runs.map((run) => [run.iterations.length, budgetSeriesOf(run).points.length])).toEqual([[2, 1]]);
  });
});

describe("activeMsUntil", () => {
  it("excludes the time between executions", () => {
    const lines = [
      { type: "run-start", at: 100 },
      { type: "run-end", at: 150 },
      { type: "run-start", at: 1_000 },
      { type: "notice", at: 1_030 },
    ];
    const executions = executionsOf({ lines });
    expect([120, 500, 1_010, 9_999].map((at) => activeMsUntil(executions, at))).toEqual([20, 50, 60, 80]);
  });
});

describe("totalsOf", () => {
  it("sums the tokens, cost and calls of a run and its nested runs", async () => {
    const { log } = await logNested();
    expect(log.runs.map(totalsOf)).toEqual([
      {
        ...{ inputTokens: 500, cachedTokens: undefined, outputTokens: 50, tokens: 550 },
        ...{ costUSD: 1.25, iterations: 3, calls: 3, nestedRuns: 1 },
      },
    ]);
  });
});

describe("cacheShareOf", () => {
  const totals = { ...noTotals, inputTokens: 400 };

  it("returns undefined if no service reported cached tokens", () => {
    expect([noTotals, totals, { ...totals, cachedTokens: 0 }].map(cacheShareOf)).toEqual([undefined, undefined, 0]);
  });

  it("counts the input of nested runs and of services that reported no cached tokens", () => {
    expect(cacheShareOf(addTotals({ ...totals, cachedTokens: 200 }, totals))).toBe(0.25);
  });
});

describe("activeMsOf", () => {
  const line = (type: string, at: number): { type: string; at: number } => ({ type, at });

  it("sums the time of all executions of a run, without the gaps between executions", () => {
    const lines = [
      line("run-start", 0),
      line("run-end", 100),
      line("run-start", 900),
      line("run-end", 950),
      line("late-result", 999),
    ];
    expect(activeMsOf({ lines, endedAt: 950 })).toBe(150);
    expect(activeMsOf({ lines: lines.slice(0, 3), durationMs: 100 })).toBe(100);
    expect(activeMsOf({ lines: lines.slice(2), endedAt: 950, durationMs: 150 })).toBe(150);
  });
});
