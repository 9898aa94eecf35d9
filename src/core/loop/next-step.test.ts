import { describe, expect, it } from "vitest";
import type { StreamResult } from "../types/provider.ts";
import type { Ending } from "../types/termination.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import { applyStep } from "./state/apply-step.ts";
import { endingOfReason } from "../cancellation/cancel-scope.ts";
import { createLoopState, type InboxAnswer, type LoopState, type StepResult } from "./state/loop-state.ts";
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

/** Summarizes a step in one text: its kind, or the ending that it leads to. */
function wordOf(state: LoopState, more: Partial<Bounds> = {}): string {
  const next = nextStep(state, { ...bounds, ...more });
  if (next.kind === "last-look" || next.kind === "end") return `${next.kind} ${next.ending.status} ${next.ending.reason.kind}`;
  if (next.kind !== "model") return next.kind;
  return [
    "model",
    next.withoutTools ? "without tools" : "",
    next.finalAnswerTo === undefined ? "" : `for ${next.finalAnswerTo.reason.kind}`,
  ]
    .filter(Boolean)
    .join(" ");
}

describe("the next step", () => {
  it.for<[where: string, steps: readonly StepResult[], next: string, bounds?: Partial<Bounds>]>([
    ["at the start", [], "inbox"],
    // After the inbox: kill or abort first, then stop, then the limits in their order.
    ["after an inbox", [inbox()], "model"],
    ["after a kill", [inbox({ ended: killed })], "last-look stopped-by-user killed"],
    ["after an abort", [inbox({ ended: aborted })], "last-look stopped-by-user aborted"],
    ["after a stop", [inbox({ ended: stopped })], "last-look stopped-by-user stopped"],
    ["after the wall clock's timer", [inbox({ ended: struck })], "last-look timeout wall-clock"],
    [
      "after active time",
      [inbox(), calls, batch("completed"), inbox({ now: 50 })],
      "last-look timeout wall-clock",
      { wallClockMs: 50 },
    ],
    ["just before the wall clock", [inbox(), calls, batch("completed"), inbox({ now: 49 })], "model", { wallClockMs: 50 }],
    [
      "at the last iteration",
      [inbox(), calls, batch("completed"), inbox(), calls, batch("completed"), inbox()],
      "last-look timeout max-iterations",
    ],
    [
      "at the token limit",
      [
        inbox(),
        model({ status: "tool-calls", calls: [call], usage: { inputTokens: 100, outputTokens: 0, totalTokens: 100 } }),
        batch("completed"),
        inbox(),
      ],
      "last-look error max-tokens",
    ],
    ["past the tool limit", [inbox(), calls, batch("completed", "limit"), inbox()], "model without tools"],
    [
      "past the tool limit twice",
      [inbox(), calls, batch("limit"), inbox(), calls, batch("limit"), inbox()],
      "last-look error max-tool-calls",
      { maxIterations: 9 },
    ],
    // After a stream.
    ["after an answer", [inbox(), model({ ...answered, text: "Hi" })], "last-look completed answered"],
    ["after calls", [inbox(), calls], "batch"],
    [
      "after a call without a name",
      [inbox(), model({ status: "tool-calls", calls: [{ ...call, name: " " }] })],
      "last-look error malformed-call",
    ],
    ["after a pause", [inbox(), model({ finish: "paused" })], "model"],
    [
      "after a pause too many",
      [inbox(), model({ finish: "paused" }), model({ finish: "continue" })],
      "last-look error max-pauses",
    ],
    [
      "after nothing",
      [inbox(), model({ status: "empty-response", reason: { kind: "empty" } })],
      "last-look empty-response empty",
    ],
    [
      "after nothing, behind text",
      [
        inbox(),
        model({ status: "tool-calls", text: "Hi", calls: [call] }),
        batch("completed"),
        inbox(),
        model({ status: "empty-response", reason: { kind: "empty" } }),
      ],
      "last-look completed answered",
    ],
    ["after silence", [inbox(), model(timedOut)], "last-look timeout stream-idle"],
    // After a batch: a fatal failure, the error cap, the restarts, the hook, a result with `endTurn`.
    ["after a batch", [inbox(), calls, batch("completed")], "inbox"],
    ["after a batch, with a hook", [inbox(), calls, batch("completed")], "hook", { asksIteration: true }],
    ["after errors", [inbox(), calls, batch("failed", "timed-out")], "last-look error tool-error-cap"],
    ["after an error", [inbox(), calls, batch("failed")], "inbox"],
    ["after a fatal error", [inbox(), calls, fatal], "last-look error fatal-tool-error", { maxConsecutiveToolErrors: 1 }],
    ["after the end of the turn", [inbox(), calls, endTurn], "last-look completed end-turn"],
    ["after the end of the turn, with a hook", [inbox(), calls, endTurn], "hook", { asksIteration: true }],
    // After the hook.
    [
      "after the hook",
      [inbox(), calls, batch("completed"), { kind: "hook", answer: { kind: "continue" } }],
      "inbox",
      { asksIteration: true },
    ],
    [
      "after a hook that aborts",
      [inbox(), calls, endTurn, { kind: "hook", answer: { kind: "abort" } }],
      "last-look stopped-by-user iteration-abort",
      { asksIteration: true },
    ],
    [
      "after a hook that fails",
      [inbox(), calls, endTurn, { kind: "hook", answer: { kind: "failed", error: { name: "E", message: "no" } } }],
      "last-look error hook-failed",
      { asksIteration: true },
    ],
    [
      "after the hook, at the end of the turn",
      [inbox(), calls, endTurn, { kind: "hook", answer: { kind: "continue" } }],
      "last-look completed end-turn",
      { asksIteration: true },
    ],
    // At the last look, only a completed ending is replaced.
    ["at the last look", [inbox(), model({ ...answered, text: "Hi" }), lastLook(answered)], "end completed answered"],
    [
      "at the last look, stopped",
      [inbox(), model({ ...answered, text: "Hi" }), lastLook(answered, { ended: stopped })],
      "end stopped-by-user stopped",
    ],
    [
      "at the last look, killed",
      [inbox(), model({ ...answered, text: "Hi" }), lastLook(answered, { ended: killed })],
      "end stopped-by-user killed",
    ],
    [
      "at the last look, out of time",
      [inbox(), model({ ...answered, text: "Hi" }), lastLook(answered, { ended: struck })],
      "end completed answered",
    ],
    [
      "at the last look of another ending, stopped",
      [inbox(), model(timedOut), lastLook(timedOut, { ended: stopped })],
      "end timeout stream-idle",
    ],
    // After a reopen, the run continues as after an inbox.
    [
      "reopened",
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

  const atLimit = [inbox(), calls, batch("completed"), inbox(), calls, batch("completed"), inbox()];
  const limit: Ending = { status: "timeout", reason: { kind: "max-iterations", limit: 2 } };
  it.for<[where: string, steps: readonly StepResult[], next: string]>([
    ["at the last iteration", atLimit, "model without tools for max-iterations"],
    [
      "past the tool limit twice",
      [inbox(), calls, batch("limit"), inbox(), calls, batch("limit"), inbox()],
      "model without tools for max-iterations",
    ],
    [
      "after the final answer",
      [...atLimit, model({ ...answered, text: "In short." }, limit)],
      "last-look timeout max-iterations",
    ],
    [
      "after calls in its place",
      [...atLimit, model({ status: "tool-calls", calls: [{ ...call, callId: "d" }] }, limit)],
      "last-look timeout max-iterations",
    ],
    ["after a failure in its place", [...atLimit, model(timedOut, limit)], "last-look timeout max-iterations"],
    ["after a pause in its place", [...atLimit, model({ finish: "paused" }, limit)], "model without tools for max-iterations"],
    [
      "after pauses in its place, as many as there may be",
      [...atLimit, model({ finish: "paused" }, limit), model({ finish: "paused" }, limit)],
      "last-look timeout max-iterations",
    ],
    [
      "after a stop in its place",
      [...atLimit, model({ status: "stopped-by-user", reason: { kind: "killed" } }, limit)],
      "last-look stopped-by-user killed",
    ],
    ["out of time", [inbox({ ended: struck })], "last-look timeout wall-clock"],
    ["stopped", [inbox({ ended: stopped })], "last-look stopped-by-user stopped"],
  ])("with a final answer granted: %s", ([, steps, next]) => {
    expect(wordOf(after(...steps), { finalAnswer: true })).toBe(next);
  });

  it("is a question without an effect: asked twice, it says the same", () => {
    const state = after(inbox(), calls);
    const before = structuredClone(state);
    expect(nextStep(state, bounds)).toEqual(nextStep(state, bounds));
    expect(state).toEqual(before);
  });
});
