// A run whose old messages are replaced with a summary.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { compactMessages } = await load("turnwright/compaction");
  const { createMockProvider, text } = await load("turnwright/testing");
  const provider = createMockProvider(({ purpose }) => text(purpose === "summary" ? "Three long messages." : "Hello."));
  const messages = [1, 2, 3, 4].map((number) => ({ role: "user", content: `${number} ${"x".repeat(4_000)}` }));
  const middleware = [compactMessages({ when: 2_000, keep: 1_000 })];
  const { compaction, messages: all } = await runToolLoop({ provider, messages, middleware });
  assert.deepEqual([compaction.summary, compaction.count, all.length], ["Three long messages.", 3, 5]);
};
