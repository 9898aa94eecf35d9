// A provider made with the kit, in a run, and one model request made by hand.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { CancelScope, memoize, readSdkStream, recordOf, streamOnce, textOf } = await load("turnwright/kit");
  const provider = {
    id: "echo",
    model: "m",
    stream: (_request, call) => {
      const out = [];
      let finished = false;
      const reader = {
        failed: false,
        get finished() {
          return finished;
        },
        read(event) {
          out.push({ type: "text-delta", text: textOf(recordOf(event).text) });
        },
        end() {
          finished = true;
          out.push({ type: "finish", reason: "stop" });
        },
      };
      const open = async () =>
        (async function* () {
          yield { text: "Hello" };
          yield { text: " there" };
        })();
      return readSdkStream({ open, reader, out }, call);
    },
  };
  const { text } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi" }] });
  assert.equal(text, "Hello there");
  const once = memoize((one) => ({ ...one }));
  const message = { role: "user" };
  assert.equal(once(message), once(message));
  const { createTestClock } = await load("turnwright/testing");
  const none = Number.POSITIVE_INFINITY;
  const result = await streamOnce(
    { messages: [{ role: "user", content: "Hi" }], tools: [], iteration: 0 },
    {
      provider,
      clock: createTestClock(),
      scope: new CancelScope(),
      timeouts: { streamIdleMs: none, firstChunkMs: none, toolMs: none, toolCleanupMs: none, approvalMs: none, callbackMs: none },
      events: { runId: "own", wants: () => false, send: () => {}, room: () => undefined },
      heldIds: new Set(),
    },
  );
  assert.equal(result.status, "completed");
  assert.equal(result.text, "Hello there");
};
