// Logs that another program has written or changed.

import { describe, expect, it } from "vitest";
import { type LoggedRun, parseRunLog, toChromeTrace, toMarkdown } from "turnwright/inspect";
import { totalsOf } from "../../src/inspect/analysis/run-totals.ts";

type Line = { readonly [field: string]: unknown };

const usage = (inputTokens: unknown, outputTokens: unknown): Line => ({ inputTokens, outputTokens, totalTokens: 110 });
const start = (run: number, more: Line = {}): Line => ({
  type: "run-start",
  run,
  runId: `r${run}`,
  provider: "p",
  model: "m",
  ...more,
});
const stream = { type: "iteration-start", iteration: 0, continuation: 0 };

function readLines(lines: readonly Line[]): LoggedRun {
  const all: readonly Line[] = [{ type: "log", version: 1 }, ...lines];
  const [run] = parseRunLog(all.map((line, at) => `${JSON.stringify({ at, ...line })}\n`).join("")).runs;
  if (run === undefined) throw new Error("The log has no run.");
  return run;
}

describe("a log of a stream that was repeated after a crash", () => {
  const call = { run: 0, iteration: 0, callId: "c", name: "ask", index: 0 };
  const nested = start(1, { path: ["c"], parent: 0 });
  const began: readonly Line[] = [start(0), { ...stream, run: 0 }, { ...call, type: "tool-start" }, nested];
  const ended = { ...stream, type: "iteration-end", run: 1, usage: usage(100, 10), costUSD: 0.5 };
  const run = readLines([...began, ...began, { ...stream, run: 1 }, ended]);

  it("has the nested run in the second call only", () => {
    expect(run.iterations.map(({ calls }) => calls.map(({ runs }) => runs.map(({ runId }) => runId)))).toEqual([[[]], [["r1"]]]);
    expect(run.iterations[1]?.calls[0]?.runs[0]?.starts).toHaveLength(2);
  });

  it("counts the nested run once in its totals, its trace and its transcript", () => {
    expect(totalsOf(run)).toMatchObject({ tokens: 110, costUSD: 0.5, nestedRuns: 1 });
    expect(toChromeTrace({ version: 1, source: "log", runs: [run], isTorn: false }).match(/"nested run"/g)).toHaveLength(2);
    expect(toMarkdown(run).match(/# Nested run/g)).toHaveLength(1);
  });
});

describe("a log with other values instead of numbers", () => {
  const wrong = { usage: { ...usage("<img src=x>", "<b>7</b>"), cachedInputTokens: "<i>" }, costUSD: "x", durationMs: [] };
  const call = { run: 0, iteration: 0, callId: "c", name: "ask", index: 0 };
  const run = readLines([
    start(0),
    { ...stream, run: 0 },
    { ...call, type: "tool-end", outcome: "completed", result: 1, durationMs: "<u>" },
    { ...stream, type: "iteration-end", run: 0, ...wrong },
    { type: "run-end", run: 0, status: "completed", reason: { kind: "answered" }, toolCallsExecuted: "<s>", ...wrong },
  ]);

  it("has no cost and no duration, and counts without invalid tokens", () => {
    const known = { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 110 }, costUSD: undefined, durationMs: undefined };
    expect([run, run.iterations[0]]).toMatchObject([{ ...known, toolCallsExecuted: undefined }, known]);
    expect(run.iterations[0]?.calls[0]?.durationMs).toBeUndefined();
  });

  it("becomes a transcript without HTML", () => {
    expect(toMarkdown(run)).not.toMatch(/<[a-z]/);
    expect(toMarkdown(run)).toContain("Tokens: 0 in, 0 out");
  });
});
