// The limits of a run, and the result of a run that reaches a limit.

import assert from "node:assert/strict";
import { defineTool, finalAnswer, type Message, type Pricing, runToolLoop } from "turnwright";
import { genaiPrices } from "turnwright/prices";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";

const messages: readonly Message[] = [{ role: "user", content: "Find everything." }];
const tools = [defineTool({ name: "search", description: "Searches", inputSchema: { type: "object" }, execute: () => "a hit" })];
const provider = createMockProvider(() => [
  text("Still searching."),
  toolCall("search"),
  usage({ inputTokens: 10_000, outputTokens: 500 }),
]);

{
  const answers = [text("Done."), usage({ inputTokens: 10_000, outputTokens: 500 })];
  const provider = createMockProvider([answers], { id: "openai", model: "gpt-5" });
  // #region common
  const result = await runToolLoop({ provider, tools, messages, pricing: genaiPrices(), limits: { maxCostUSD: 0.5 } });
  console.log(result.status, result.costUSD); // "completed" and the cost; or "error", with the reason "max-cost" or "cost-unknown"
  // #endregion common
  assert.deepEqual([result.status, result.costUSD?.toFixed(4)], ["completed", "0.0175"]);
}

{
  const provider = createMockProvider(({ toolChoice }) =>
    toolChoice === "none"
      ? [text("In short: three hits.")]
      : [toolCall("search"), usage({ inputTokens: 10_000, outputTokens: 500 })],
  );
  // #region reserve
  const result = await runToolLoop({
    provider,
    tools,
    messages,
    limits: { maxTokens: 100_000, wallClockMs: 120_000 },
    middleware: [finalAnswer({ reserve: { tokens: 20_000, ms: 20_000 } })],
  });
  console.log(result.reason.kind, result.finalAnswer, result.text); // "max-tokens", true, and the final answer
  // #endregion reserve
  assert.deepEqual([result.reason.kind, result.finalAnswer, result.text], ["max-tokens", true, "In short: three hits."]);
  assert.ok(result.usage.totalTokens < 100_000);
}

// #region limits
const limited = await runToolLoop({
  provider,
  tools,
  messages,
  limits: { maxIterations: 10, maxToolCalls: 50, maxTokens: 200_000, wallClockMs: 120_000 },
  timeouts: { toolMs: 30_000 }, // for each call
});
console.log(limited.status, limited.reason.kind, limited.text); // "timeout", "max-iterations", and the text so far
// #endregion limits
assert.deepEqual([limited.status, limited.reason.kind], ["timeout", "max-iterations"]);

const pricing: Pricing = ({ inputTokens, outputTokens }) => (inputTokens * 1.25 + outputTokens * 10) / 1_000_000;
const limits = { maxCostUSD: 0.05, maxTokens: 200_000, maxToolCalls: 50, wallClockMs: 120_000 };
const { reason, costUSD, text: said } = await runToolLoop({ provider, tools, messages, pricing, limits });
assert.deepEqual([reason.kind, costUSD?.toFixed(4), said], ["max-cost", "0.0350", "Still searching."]);

{
  const provider = createMockProvider([[text("Done."), usage({ inputTokens: 10_000, outputTokens: 500 })]], {
    id: "openai",
    model: "gpt-5",
  });
  const table = new Map([["ada", 0.9]]);
  const spentToday = async (user: string): Promise<number> => table.get(user) ?? 0;
  const addSpending = async (user: string, costUSD: number): Promise<unknown> =>
    table.set(user, (await spentToday(user)) + costUSD);
  // #region per-user
  async function answerFor(user: string): Promise<string> {
    const leftUSD = 1 - (await spentToday(user)); // from a table of yours
    if (leftUSD <= 0) return "Your budget for today is used up.";
    const result = await runToolLoop({ provider, messages, pricing: genaiPrices(), limits: { maxCostUSD: leftUSD } });
    await addSpending(user, result.knownCostUSD); // runs at the same time may together exceed the budget
    return result.text;
  }
  // #endregion per-user
  assert.equal(await answerFor("ada"), "Done.");
  assert.equal(table.get("ada")?.toFixed(4), "0.9175");
  table.set("ada", 1);
  assert.equal(await answerFor("ada"), "Your budget for today is used up.");
}
