// A log with parallel calls, an approval and a nested run.

import type { RunLog } from "turnwright/inspect";
import { logOf } from "./trace-events.ts";

export const start = { type: "run-start", runId: "r", provider: "p", model: "m" };
export const place = { iteration: 0, continuation: 0 };
export const call = (callId: string, index: number): object => ({ iteration: 0, callId, name: `tool_${callId}`, index });
export const calls = (...ids: readonly string[]): object => ({
  calls: ids.map((callId, index) => ({ ...call(callId, index), at: 1_000_030 })),
});
export const request: { readonly type: string; readonly [field: string]: unknown } = {
  type: "request",
  provider: "p",
  model: "m",
  keep: 0,
  add: [],
  ...place,
};
export const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
export const ended: { readonly [field: string]: unknown } = {
  status: "tool-calls",
  provider: "p",
  model: "m",
  finish: "tool-calls",
  usage,
  costUSD: 0.5,
  calls: [],
  durationMs: 25,
};

export const parallelLog = (): RunLog =>
  logOf([
    { at: 0, ...start },
    { at: 2, type: "iteration-start", ...place },
    { at: 5, ...request },
    { at: 10, type: "first-token", kind: "call", ...place },
    { at: 30, type: "output", ...place, finish: "tool-calls", ...calls("a", "b", "c") },
    { at: 31, type: "approval-asked", ...call("c", 2), args: {} },
    { at: 32, type: "tool-start", ...call("a", 0), args: {} },
    { at: 33, type: "tool-start", ...call("b", 1), args: {} },
    { at: 34, type: "run-start", run: 1, path: ["b"], parent: 0, runId: "r/b", provider: "p", model: "m" },
    { at: 35, type: "iteration-start", run: 1, ...place },
    { at: 50, type: "tool-end", ...call("a", 0), outcome: "completed", result: "secret", durationMs: 18 },
    { at: 60, type: "iteration-end", run: 1, ...place, ...ended },
    { at: 61, type: "run-end", run: 1, status: "completed", reason: { kind: "answered" }, usage },
    { at: 70, type: "approval-decided", ...call("c", 2), decision: "approve" },
    { at: 71, type: "tool-start", ...call("c", 2), args: {} },
    { at: 80, type: "tool-end", ...call("b", 1), outcome: "completed", result: 1, durationMs: 47 },
    { at: 90, type: "tool-end", ...call("c", 2), outcome: "completed", result: 1, durationMs: 19 },
    { at: 95, type: "iteration-end", ...place, ...ended },
    { at: 100, type: "run-end", status: "completed", reason: { kind: "answered" }, usage },
  ]);
