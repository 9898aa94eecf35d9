// Logs that another program has written or changed.

import { describe, expect, it } from "vitest";
import { toChromeTrace, toMarkdown } from "turnwright/inspect";
import { totalsOf } from "../../src/inspect/analysis/run-totals.ts";
import { type Line, readEdited, startLine, streamLine } from "./edited-log.ts";

const usage = (inputTokens: unknown, outputTokens: unknown): Line => ({ inputTokens, outputTokens, totalTokens: 110 });

describe("a run log with a stream that was repeated after a crash", () => {
  const call = { run: 0, iteration: 0, callId: "c", name: "ask", index: 0 };
  const nested = startLine(1, { path: ["c"], parent: 0 });
  const began: readonly Line[] = [startLine(0), { ...streamLine, run: 0 }, { ...call, type: "tool-start" }, nested];
  const ended = { ...streamLine, type: "iteration-end", run: 1, usage: usage(100, 10), costUSD: 0.5 };
  const run = readEdited([...began, ...began, { ...streamLine, run: 1 }, ended]);

  it("shows the nested run only below the repeated call", () => {
    expect(run.iterations.map(({ calls }) => calls.map(({ runs }) => runs.map(({ runId }) => runId)))).toEqual([[[]], [["r1"]]]);
    expect(run.iterations[1]?.calls[0]?.runs[0]?.starts).toHaveLength(2);
  });

  it("counts the nested run once in the totals, trace and transcript", () => {
    expect(totalsOf(run)).toMatchObject({ tokens: 110, costUSD: 0.5, nestedRuns: 1 });
    expect(toChromeTrace({ version: 1, source: "log", runs: [run], isTorn: false }).match(/"nested run"/g)).toHaveLength(2);
    expect(toMarkdown(run).match(/# Nested run/g)).toHaveLength(1);
  });
});

describe("a run log with strings instead of numbers", () => {
  const wrong = { usage: { ...usage("<img src=x>", "<b>7</b>"), cachedInputTokens: "<i>" }, costUSD: "x", durationMs: [] };
  const call = { run: 0, iteration: 0, callId: "c", name: "ask", index: 0 };
  const run = readEdited([
    startLine(0),
    { ...streamLine, run: 0 },
    { ...call, type: "tool-end", outcome: "completed", result: 1, durationMs: "<u>" },
    { ...streamLine, type: "iteration-end", run: 0, ...wrong },
    { type: "run-end", run: 0, status: "completed", reason: { kind: "answered" }, toolCallsExecuted: "<s>", ...wrong },
  ]);

  it("keeps only the valid token counts", () => {
    const known = { usage: { inputTokens: 0, outputTokens: 0, totalTokens: 110 }, costUSD: undefined, durationMs: undefined };
    expect([run, run.iterations[0]]).toMatchObject([{ ...known, toolCallsExecuted: undefined }, known]);
    expect(run.iterations[0]?.calls[0]?.durationMs).toBeUndefined();
  });

  it("is converted to a Markdown transcript without HTML", () => {
    expect(toMarkdown(run)).not.toMatch(/<[a-z]/);
    expect(toMarkdown(run)).toContain("Tokens: 0 in, 0 out");
  });
});
