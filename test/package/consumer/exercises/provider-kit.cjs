// A provider made with the kit, in a run.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { memoize, readSdkStream, reconcileUsage, recordOf, textOf } = await load("turnwright/provider-kit");
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
  assert.equal(reconcileUsage({ inputTokens: 7, outputTokens: 1, totalTokens: 8, cachedInputTokens: 161 }).inputTokens, 168);
};
