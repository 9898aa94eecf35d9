// Computes the cost of a run from list prices.

const assert = require("node:assert/strict");

exports.imports = ["@pydantic/genai-prices"];

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { genaiPrices } = await load("turnwright/prices");
  const { createMockProvider, text, usage } = await load("turnwright/testing");
  const turn = [text("Hello."), usage({ inputTokens: 1_000, outputTokens: 1_000 })];
  const provider = createMockProvider([turn], { id: "openai", model: "gpt-5" });
  const { costUSD } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi." }], pricing: genaiPrices() });
  assert.ok(costUSD > 0);
};
