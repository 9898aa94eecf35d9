// A run made by hand out of the parts of the loop.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { applyStep, createLoopState, nextStep } = await load("turnwright/parts");
  const state = createLoopState({ messages: [{ role: "user", content: "Hi" }], heldIds: [], contextItems: [], priced: false });
  const bounds = {
    maxIterations: 1,
    maxConsecutiveToolErrors: 1,
    maxRestarts: 0,
    maxPauses: 0,
    maxToolCalls: 1,
    maxTokens: 1e9,
    wallClockMs: 1e9,
  };
  assert.equal(nextStep(state, bounds).kind, "inbox");
  applyStep(state, { kind: "inbox", answer: { now: 0, token: "t" } });
  assert.equal(nextStep(state, bounds).kind, "model");
};
