import type { LoggedRun } from "turnwright/inspect";
import { place, request, start, usage } from "./parallel-log.ts";
import { logOf } from "./trace-events.ts";

export interface Texts {
  readonly system: string;
  readonly said: string;
  readonly text: string;
  readonly reasoning: string;
  readonly name: string;
  readonly args: unknown;
  readonly result: unknown;
  readonly error: string;
}

const harmless: Texts = { system: "s", said: "u", text: "t", reasoning: "r", name: "n", args: "a", result: "x", error: "e" };

/** Puts the texts of users, models and tools in all places, including a nested run. */
export function runWith(texts: Partial<Texts> = {}): LoggedRun {
  const { system, said, text, reasoning, name, args, result, error } = { ...harmless, ...texts };
  const call = { iteration: 0, callId: name, name, index: 0 };
  const failed = { code: "overloaded", message: error };
  const asks = { ...request, system, add: [{ role: "user", content: said }] };
  const ended = {
    status: "tool-calls",
    provider: name,
    model: name,
    finish: "tool-calls",
    usage,
    costUSD: 0.5,
    durationMs: 1234,
  };
  const attempt = { ...place, attempt: 0, provider: name, model: name };
  const log = logOf([
    { at: 0, ...start },
    { at: 1, type: "iteration-start", ...place },
    { at: 2, ...asks },
    { at: 3, type: "attempt-start", ...attempt },
    { at: 503, type: "attempt-discarded", ...place, attempt: 0, error: failed },
    { at: 1503, type: "attempt-start", ...attempt, attempt: 1 },
    { at: 1510, type: "first-token", kind: "text", ...place },
    { at: 1520, type: "output", ...place, text, reasoning, error: failed, calls: [{ ...call, args, at: 1_001_520 }] },
    { at: 1520, type: "approval-asked", ...call, args },
    { at: 4720, type: "approval-decided", ...call, decision: "approve" },
    { at: 4720, type: "tool-start", ...call, args },
    { at: 4800, type: "run-start", run: 1, path: [name], parent: 0, runId: name, provider: name, model: name },
    { at: 4801, type: "iteration-start", run: 1, ...place },
    { at: 4802, run: 1, ...asks },
    { at: 4803, type: "output", run: 1, ...place, text, reasoning },
    { at: 4804, type: "iteration-end", run: 1, ...place, ...ended },
    { at: 4805, type: "run-error", run: 1, error: { name: "Error", message: error } },
    { at: 5000, type: "tool-end", ...call, outcome: "completed", result, durationMs: 280 },
    { at: 5001, type: "iteration-end", ...place, ...ended },
    { at: 5002, type: "iteration-start", iteration: 1, continuation: 0 },
    {
      at: 5003,
      ...request,
      iteration: 1,
      keep: 1,
      replace: [[0, { role: "user", content: "changed" }]],
      add: [{ role: "user", content: said }],
    },
    {
      at: 65_003,
      type: "run-end",
      status: "error",
      reason: { kind: "provider-error", error: failed },
      usage,
      costUSD: 0.5,
      durationMs: 65_003,
      toolCallsExecuted: 1,
    },
  ]);
  const [run] = log.runs;
  if (run === undefined) throw new Error("The log has no run.");
  return run;
}
