// One model request made by hand out of the parts of the loop.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { CancelScope, streamOnce } = await load("turnwright/parts");
  const { createMockProvider, createTestClock, text } = await load("turnwright/testing");
  const request = { messages: [{ role: "user", content: "Hi" }], tools: [], iteration: 0 };
  const none = Number.POSITIVE_INFINITY;
  const result = await streamOnce(request, {
    provider: createMockProvider([text("Hello!")]),
    clock: createTestClock(),
    scope: new CancelScope(),
    timeouts: { streamIdleMs: none, firstChunkMs: none, toolMs: none, settleMs: none, approvalMs: none, hookMs: none },
    events: { runId: "own", wants: () => false, send: () => {}, room: () => undefined },
    heldIds: new Set(),
  });
  assert.equal(result.status, "completed");
  assert.equal(result.text, "Hello!");
};
