// The limits of a run, and the result of a run that reaches a limit.

import assert from "node:assert/strict";
import { setImmediate as nextTick } from "node:timers/promises";
import {
  defineTool,
  finalAnswer,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type Message,
  type Pricing,
  runToolLoop,
} from "turnwright";
import { createRunHost } from "turnwright/host";
import { genaiPrices } from "turnwright/prices";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";
import type { UIChatRequest } from "turnwright/ui-message-stream";

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
  const spent = usage({ inputTokens: 10_000, outputTokens: 500 });
  const provider = createMockProvider(
    ({ messages }) => (messages.at(-1)?.role === "tool" ? [text("Paid."), spent] : [toolCall("pay"), spent]),
    { id: "openai", model: "gpt-5" },
  );
  const pay = { name: "pay", description: "Pays", inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" };
  const tools = [defineTool(pay)];
  const table = new Map([["earlier", 0.96]]);
  const spentToday = async (_user: string, except?: string): Promise<number> =>
    [...table].reduce((sum, [runId, costUSD]) => (runId === except ? sum : sum + costUSD), 0);
  const setSpending = async (_user: string, runId: string, costUSD: number): Promise<unknown> => table.set(runId, costUSD);
  // #region per-user
  /** Options for a run of the user. Undefined if nothing is left. To resume a run, pass its id: its limit applies to its whole cost. */
  async function budgetFor(user: string, resumed?: string) {
    const maxCostUSD = 1 - (await spentToday(user, resumed));
    return maxCostUSD > 0 ? { pricing: genaiPrices(), limits: { maxCostUSD } } : undefined;
  }

  /** Starts a run, or resumes it. */
  async function runFor(user: string, run: LoopOptions): Promise<LoopResult | "over-budget"> {
    const budget = await budgetFor(user, run.runId);
    if (budget === undefined) return "over-budget";
    const result = await runToolLoop({ ...run, ...budget, limits: { ...run.limits, ...budget.limits } });
    await setSpending(user, result.runId, result.knownCostUSD); // replaces what the run had spent before
    return result;
  }
  // #endregion per-user
  const run = { provider, tools, messages, runId: "bill", journal: memoryJournal() };
  const first = await runFor("ada", run);
  assert.ok(first !== "over-budget" && first.status === "suspended");
  assert.equal(table.get("bill")?.toFixed(4), "0.0175");
  // The budget has room for both requests of the run only if the first one counts once.
  const rest = await runFor("ada", { ...run, answers: { call_i0_0: { kind: "approve" } } });
  assert.ok(rest !== "over-budget" && rest.status === "completed");
  assert.equal((await spentToday("ada")).toFixed(4), "0.9950");
  table.set("earlier", 1);
  assert.equal(await runFor("ada", { ...run, runId: "next" }), "over-budget");

  table.set("earlier", 0.96);
  table.delete("bill");
  const host = createRunHost();
  // #region per-chat
  /** Sends a message to a chat of the user, or answers for calls that wait. With neither, a run that was cut off continues. */
  async function sendFor(user: string, id: string, { message, answers }: Partial<UIChatRequest> = {}) {
    const resumed = message === undefined ? (await host.status(id))?.runId : undefined;
    const budget = await budgetFor(user, resumed);
    if (budget === undefined) return { kind: "over-budget" } as const;
    const run = { provider, tools, ...budget };
    const begun = message === undefined ? await host.resume(id, { ...run, answers }) : await host.start(id, { ...run, message });
    if (begun.kind === "started")
      begun.result.then(({ runId, knownCostUSD }) => setSpending(user, runId, knownCostUSD)).catch(console.error);
    return begun;
  }
  // #endregion per-chat
  const message = { role: "user", content: "Pay." } as const;
  for (const request of [{ message }, { answers: { call_i0_0: { kind: "approve" as const, fromPage: true as const } } }]) {
    const begun = await sendFor("ada", "chat-9", request);
    assert.ok(begun.kind === "started");
    await begun.result;
    await nextTick();
  }
  assert.equal((await host.status("chat-9"))?.status, "completed");
  assert.equal(table.get("chat-9/1")?.toFixed(4), "0.0350");
  table.set("earlier", 1);
  assert.equal((await sendFor("ada", "chat-9", { message })).kind, "over-budget");
  await host.close();
}
