// The partial values of an answer that streams.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { createPartialOutput, partialOutputs } = await load("turnwright/partial-output");
  const partial = createPartialOutput();
  partial.take({ type: "iteration-start", continuation: 0 });
  assert.deepEqual(partial.take({ type: "text-delta", text: '{"city":"Os' }), { city: "Os" });
  async function* events() {
    yield { type: "iteration-start", continuation: 0 };
    yield { type: "text-delta", text: "[1]" };
  }
  const values = [];
  for await (const value of partialOutputs(events())) values.push(value);
  assert.deepEqual(values, [[1]]);
};
