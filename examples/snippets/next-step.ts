// Makes the decisions of the loop without running it. `nextStep` returns the next step, and `applyStep` records its outcome.

import assert from "node:assert/strict";
import { type Message, type StreamResult } from "turnwright";
import { applyStep, createLoopState, nextStep, type Bounds } from "turnwright/parts";

const messages: readonly Message[] = [{ role: "user", content: "Hello?" }];
const bounds: Bounds = {
  maxIterations: 10,
  maxConsecutiveToolErrors: 5,
  maxRestarts: 5,
  maxPauses: 10,
  maxToolCalls: Number.POSITIVE_INFINITY,
  maxTokens: Number.POSITIVE_INFINITY,
  wallClockMs: Number.POSITIVE_INFINITY,
  finalAnswer: false,
  asksIteration: false,
};
const answer: StreamResult = {
  status: "completed",
  reason: { kind: "answered" },
  text: "Hello!",
  reasoning: "",
  details: "",
  calls: [],
  providerMetadata: [],
  provider: "mock",
  model: "mock-model",
  visibleTools: [],
  durationMs: 3,
};

// #region decide
const state = createLoopState({ messages, heldIds: [], contextItems: [], priced: false });
assert.deepEqual(nextStep(state, bounds), { kind: "inbox" });

applyStep(state, { kind: "inbox", answer: { now: 0, token: "this process" } });
assert.deepEqual(nextStep(state, bounds), { kind: "model", withoutTools: false });

applyStep(state, { kind: "model", result: answer });
assert.deepEqual(nextStep(state, bounds), { kind: "last-look", ending: { status: "completed", reason: { kind: "answered" } } });
// #endregion decide
assert.equal(state.finalText, "Hello!");
