// A run with refused input, and a run with a redacted answer.

const assert = require("node:assert/strict");

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { guardrails } = await load("turnwright/guardrails");
  const { createMockProvider, text } = await load("turnwright/testing");
  const middleware = [
    guardrails({
      input: [{ name: "topic", check: ({ text: asked }) => ({ kind: asked === "lock" ? "refuse" : "pass" }) }],
      output: [{ name: "numbers", check: ({ text: said }) => ({ kind: "rewrite", text: said.replace(/\d+/, "[number]") }) }],
    }),
  ];
  const ask = (content) =>
    runToolLoop({ provider: createMockProvider([text("Call 1234.")]), messages: [{ role: "user", content }], middleware });
  assert.equal((await ask("lock")).reason.kind, "input-guardrail");
  assert.equal((await ask("bill")).text, "Call [number].");
};
