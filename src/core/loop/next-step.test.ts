import { describe, expect, it } from "vitest";
import type { StreamResult } from "../types/provider.ts";
import type { Ending } from "../types/termination.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { applyStep } from "./state/apply-step.ts";
import { endingOfReason } from "../cancellation/cancel-scope.ts";
import { createLoopState, type LoopState } from "./state/loop-state.ts";
import type { InboxAnswer, StepResult } from "./state/step-result.ts";
import { nextStep } from "./next-step.ts";
import type { Bounds } from "./run/limits.ts";

const none = Number.POSITIVE_INFINITY;
const bounds: Bounds = {
  maxIterations: 2,
  maxConsecutiveToolErrors: 2,
  maxRestarts: 1,
  maxPauses: 1,
  maxToolCalls: 2,
  maxTokens: 100,
  wallClockMs: none,
  finalAnswer: false,
  asksIteration: false,
};

const call: ToolCall = { callId: "c", name: "t", args: {} };
const blank = {
  text: "",
  reasoning: "",
  details: "",
  calls: [],
  providerMetadata: [],
  provider: "p",
  model: "m",
  visibleTools: [],
  durationMs: 0,
};
const answered = { status: "completed", reason: { kind: "answered" } } as const;
const killed = endingOfReason({ kind: "kill" });
const aborted = endingOfReason({ kind: "abort", reason: null });
const stopped = endingOfReason({ kind: "stop" });
const struck = endingOfReason({ kind: "wall-clock", limitMs: 1_000 });
const timedOut = { status: "timeout", reason: { kind: "stream-idle", limitMs: 5 } } as const;

const inbox = (answer: Partial<InboxAnswer> = {}): StepResult => ({ kind: "inbox", answer: { now: 0, token: "t", ...answer } });
const lastLook = (ending: Ending, answer: Partial<InboxAnswer> = {}): StepResult => ({
  kind: "last-look",
  ending,
  answer: { now: 0, token: "t", ...answer },
});
const model = (result: Partial<StreamResult>, finalAnswerTo?: Ending): StepResult => ({
  kind: "model",
  result: { ...blank, status: "completed", ...result },
  finalAnswerTo,
});
const calls = model({ status: "tool-calls", finish: "tool-calls", calls: [call] });
const batch = (...kinds: readonly ToolOutcome["kind"][]): StepResult => ({
  kind: "batch",
  settled: kinds.map((kind) => ({
    outcome: { call, durationMs: 0, kind, data: null, error: { name: "E", message: "no" } } as ToolOutcome,
  })),
});
const endTurn: StepResult = {
  kind: "batch",
  settled: [{ outcome: { call, durationMs: 0, kind: "completed", data: 1, endTurn: true } }],
};
const fatal: StepResult = {
  kind: "batch",
  settled: [{ outcome: { call, durationMs: 0, kind: "failed", fatal: true, error: { name: "E", message: "no" } } }],
};

function after(...steps: readonly StepResult[]): LoopState {
  const state = createLoopState({ messages: [{ role: "user", content: "Go." }], heldIds: [], contextItems: [], priced: false });
  for (const step of steps) applyStep(state, step);
  return state;
}

function wordOf(state: LoopState, more: Partial<Bounds> = {}): string {
  const next = nextStep(state, { ...bounds, ...more });
  if (next.kind === "last-look") return `${next.ending.status} ${next.ending.reason.kind}`;
  if (next.kind === "end") return `end ${next.ending.status} ${next.ending.reason.kind}`;
  if (next.kind !== "model") return next.kind;
  return [
    "model",
    next.withoutTools ? "without tools" : "",
    next.finalAnswerTo === undefined ? "" : `for ${next.finalAnswerTo.reason.kind}`,
  ]
    .filter(Boolean)
    .join(" ");
}

const hi = model({ ...answered, text: "Hi" });
const done = batch("completed");
const clock: Partial<Bounds> = { wallClockMs: 50 };
const goOn: StepResult = { kind: "hook", answer: { kind: "continue" } };
const hooked: Partial<Bounds> = { asksIteration: true };
const limit: Ending = { status: "timeout", reason: { kind: "max-iterations", limit: 2 } };
const pause = model({ finish: "paused" }, limit);

describe("nextStep", () => {
  it.for<[where: string, steps: readonly StepResult[], next: string, bounds?: Partial<Bounds>]>([
    ["reads the inbox before the first iteration", [], "inbox"],
    ["calls the model after reading the inbox", [inbox()], "model"],
    ["ends the run after a kill", [inbox({ ended: killed })], "stopped-by-user killed"],
    ["ends the run after an abort", [inbox({ ended: aborted })], "stopped-by-user aborted"],
    ["ends the run after a stop", [inbox({ ended: stopped })], "stopped-by-user stopped"],
    ["ends the run when the wall-clock timer fires", [inbox({ ended: struck })], "timeout wall-clock"],
    ["ends the run after wallClockMs", [inbox(), calls, done, inbox({ now: 50 })], "timeout wall-clock", clock],
    ["calls the model if wallClockMs has not passed yet", [inbox(), calls, done, inbox({ now: 49 })], "model", clock],
    ["ends the run at maxIterations", [inbox(), calls, done, inbox(), calls, done, inbox()], "timeout max-iterations"],
    [
      "ends the run at maxTokens",
      [
        inbox(),
        model({ status: "tool-calls", calls: [call], usage: { inputTokens: 100, outputTokens: 0, totalTokens: 100 } }),
        done,
        inbox(),
      ],
      "error max-tokens",
    ],
    [
      "calls the model without tools at maxToolCalls",
      [inbox(), calls, batch("completed", "limit"), inbox()],
      "model without tools",
    ],
    [
      "ends the run if tool calls exceed maxToolCalls in a second iteration",
      [inbox(), calls, batch("limit"), inbox(), calls, batch("limit"), inbox()],
      "error max-tool-calls",
      { maxIterations: 9 },
    ],
    ["ends the run as completed after an answer", [inbox(), hi], "completed answered"],
    ["runs the tool calls of a message", [inbox(), calls], "batch"],
    [
      "ends the run after a tool call without a name",
      [inbox(), model({ status: "tool-calls", calls: [{ ...call, name: " " }] })],
      "error malformed-call",
    ],
    ["calls the model again after a paused message", [inbox(), model({ finish: "paused" })], "model"],
    [
      "ends the run after too many pauses",
      [inbox(), model({ finish: "paused" }), model({ finish: "continue" })],
      "error max-pauses",
    ],
    [
      "ends the run after an empty response",
      [inbox(), model({ status: "empty-response", reason: { kind: "empty" } })],
      "empty-response empty",
    ],
    [
      "completes the run if an empty response follows earlier text",
      [
        inbox(),
        model({ status: "tool-calls", text: "Hi", calls: [call] }),
        done,
        inbox(),
        model({ status: "empty-response", reason: { kind: "empty" } }),
      ],
      "completed answered",
    ],
    ["ends the run after a stream timeout", [inbox(), model(timedOut)], "timeout stream-idle"],
    ["reads the inbox after the tool calls", [inbox(), calls, done], "inbox"],
    ["calls onIteration after the tool calls", [inbox(), calls, done], "hook", hooked],
    [
      "ends the run at maxConsecutiveToolErrors",
      [inbox(), calls, batch("failed"), inbox(), calls, batch("timed-out")],
      "error tool-error-cap",
    ],
    ["reads the inbox after one message with failed calls", [inbox(), calls, batch("failed", "timed-out")], "inbox"],
    ["ends the run after a fatal tool error", [inbox(), calls, fatal], "error fatal-tool-error", { maxConsecutiveToolErrors: 1 }],
    ["ends the run after a result with endTurn", [inbox(), calls, endTurn], "completed end-turn"],
    ["calls onIteration after a result with endTurn", [inbox(), calls, endTurn], "hook", hooked],
    ["reads the inbox after onIteration", [inbox(), calls, done, goOn], "inbox", hooked],
    [
      "ends the run if onIteration returns abort: true",
      [inbox(), calls, endTurn, { kind: "hook", answer: { kind: "abort" } }],
      "stopped-by-user iteration-abort",
      hooked,
    ],
    [
      "ends the run if onIteration fails",
      [inbox(), calls, endTurn, { kind: "hook", answer: { kind: "failed", error: { name: "E", message: "no" } } }],
      "error hook-failed",
      hooked,
    ],
    ["ends the run after onIteration if a result had endTurn", [inbox(), calls, endTurn, goOn], "completed end-turn", hooked],
    [
      "ends the run as completed after the last reading of the inbox",
      [inbox(), hi, lastLook(answered)],
      "end completed answered",
    ],
    [
      "ends the run as stopped if the last reading of the inbox finds a stop",
      [inbox(), hi, lastLook(answered, { ended: stopped })],
      "end stopped-by-user stopped",
    ],
    [
      "ends the run as killed if the last reading of the inbox finds a kill",
      [inbox(), hi, lastLook(answered, { ended: killed })],
      "end stopped-by-user killed",
    ],
    [
      "ends the run as completed if wallClockMs expires at the last reading of the inbox",
      [inbox(), hi, lastLook(answered, { ended: struck })],
      "end completed answered",
    ],
    [
      "ends a timed-out run as timed out even if the last reading of the inbox finds a stop",
      [inbox(), model(timedOut), lastLook(timedOut, { ended: stopped })],
      "end timeout stream-idle",
    ],
    [
      "calls the model again if a recorded ending is retried",
      [
        inbox(),
        model(timedOut),
        lastLook(timedOut),
        { kind: "reopen", attempt: 1, answer: { reopen: true, before: "i0/1/stopped", now: 0, token: "u" } },
      ],
      "model",
    ],
  ])("%s", ([, steps, next, more]) => {
    expect(wordOf(after(...steps), more)).toBe(next);
  });

  const atLimit = [inbox(), calls, done, inbox(), calls, done, inbox()];
  it.for<[where: string, steps: readonly StepResult[], next: string]>([
    ["requests a final answer without tools at maxIterations", atLimit, "model without tools for max-iterations"],
    [
      "requests a final answer because of maxIterations even if maxToolCalls is exceeded too",
      [inbox(), calls, batch("limit"), inbox(), calls, batch("limit"), inbox()],
      "model without tools for max-iterations",
    ],
    [
      "ends the run after the final answer",
      [...atLimit, model({ ...answered, text: "In short." }, limit)],
      "timeout max-iterations",
    ],
    [
      "ends the run if the model calls a tool instead of answering",
      [...atLimit, model({ status: "tool-calls", calls: [{ ...call, callId: "d" }] }, limit)],
      "timeout max-iterations",
    ],
    ["ends the run if the final answer fails", [...atLimit, model(timedOut, limit)], "timeout max-iterations"],
    ["calls the model again if the final answer is paused", [...atLimit, pause], "model without tools for max-iterations"],
    ["ends the run if the final answer is paused too often", [...atLimit, pause, pause], "timeout max-iterations"],
    [
      "ends the run as killed if a kill stops the final answer",
      [...atLimit, model({ status: "stopped-by-user", reason: { kind: "killed" } }, limit)],
      "stopped-by-user killed",
    ],
    ["ends the run without a final answer after wallClockMs", [inbox({ ended: struck })], "timeout wall-clock"],
    ["ends the run without a final answer after a stop", [inbox({ ended: stopped })], "stopped-by-user stopped"],
  ])("with finalAnswer: true, %s", ([, steps, next]) => {
    expect(wordOf(after(...steps), { finalAnswer: true })).toBe(next);
  });

  it("returns an equal step when called twice, and leaves the state unchanged", () => {
    const state = after(inbox(), calls);
    const before = structuredClone(state);
    expect(nextStep(state, bounds)).toEqual(nextStep(state, bounds));
    expect(state).toEqual(before);
  });
});
