// Runs with prices.

import assert from "node:assert/strict";
import { type Pricing, runToolLoop } from "turnwright";
import { genaiContextWindow, genaiPrices } from "turnwright/prices";
import { createMockProvider, text, usage } from "turnwright/testing";

const messages = [{ role: "user", content: "Hi." }] as const;
const answer = [text("Hello."), usage({ inputTokens: 10_000, outputTokens: 2_000, cachedInputTokens: 4_000 })];
const provider = createMockProvider([answer], { id: "openai", model: "gpt-5" });

const { costUSD } = await runToolLoop({ provider, messages, pricing: genaiPrices() });
console.log(costUSD === undefined ? "The cost is unknown." : `$${costUSD.toFixed(4)}`);
assert.equal(costUSD?.toFixed(4), "0.0280");

{
  // #region numbers
  // USD per million tokens: 2 for input, 0.2 for input from the cache, 8 for output.
  const pricing: Pricing = ({ inputTokens, cachedInputTokens = 0, outputTokens }) =>
    ((inputTokens - cachedInputTokens) * 2 + cachedInputTokens * 0.2 + outputTokens * 8) / 1_000_000;
  // #endregion numbers
  const provider = createMockProvider([answer]);
  assert.equal((await runToolLoop({ provider, messages, pricing })).costUSD?.toFixed(4), "0.0288");
}

// #region own
const listed = genaiPrices();
const gateway = genaiPrices({ provider: "anthropic", model: "claude-sonnet-4-5" });

const pricing: Pricing = (tokens, used) => {
  if (used.provider === "ollama") return 0; // a local model costs nothing
  return used.provider === "our-gateway" ? gateway(tokens, used) : listed(tokens, used);
};
// #endregion own

const contextWindow = genaiContextWindow();
console.log(contextWindow("anthropic", "claude-sonnet-4-5")); // 200000
assert.equal(contextWindow("anthropic", "claude-sonnet-4-5"), 200_000);
assert.equal(contextWindow("openai", "our-own"), undefined);

const spent = { inputTokens: 1_000, outputTokens: 1_000, totalTokens: 2_000 };
assert.equal(pricing(spent, { provider: "ollama", model: "qwen3" }), 0);
assert.equal(pricing(spent, { provider: "our-gateway", model: "clever" })?.toFixed(4), "0.0180");
assert.equal(pricing(spent, { provider: "openai", model: "gpt-5" })?.toFixed(5), "0.01125");
assert.equal(pricing(spent, { provider: "openai", model: "our-own" }), undefined);
