// The program in `openai-agents-desk-before.ts`, rewritten with turnwright.

import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createLoopEvents, defineTool, type Message, runToolLoop } from "turnwright";
import { guardrails, type InputCheck, createHandoffs, withoutToolCalls } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";
import type { DeskFacts } from "./desk-facts.ts";

const shown: string[] = [];
const console = { log: (line: string): void => void shown.push(line) };
const provider = createMockProvider([
  toolCall("transfer_to_billing", {}),
  toolCall("refund", { id: "7" }),
  toolCall("transfer_to_triage", {}),
  toolCall("find_order", { id: "7" }),
  text("Refunded. The new cup arrives on Friday."),
  text("Yes, on Friday."),
  text("First, you need"),
]);
// #region desk
const inputSchema = z.object({ id: z.string() });
const findOrder = defineTool({ name: "find_order", description: "Finds an order", inputSchema, execute: () => "sent" });
const refund = defineTool({
  name: "refund",
  description: "Refunds an order",
  inputSchema,
  execute: ({ id }) => ({ refunded: id }),
});
const topic: InputCheck = {
  name: "topic",
  check: ({ text: asked }) => (asked.includes("lock") ? { kind: "refuse", info: { score: 0.9 } } : { kind: "pass" }),
};
const agents = createHandoffs({
  start: "triage",
  agents: {
    triage: {
      description: "Knows orders.",
      system: "You route questions.",
      tools: [findOrder],
      handoffs: ["billing"],
    },
    billing: {
      description: "Refunds orders.",
      system: "You refund orders.",
      tools: [refund],
      handoffs: ["triage"],
      history: withoutToolCalls,
    },
  },
});
const checks = guardrails({ input: [topic] });
const desk = { provider, tools: agents.tools, middleware: [agents, checks] };

const question: Message = { role: "user", content: "Refund order 7. When does the new cup arrive?" };
const result = await runToolLoop({ ...desk, messages: [question] });
console.log(`${result.agent}: ${result.text}`);
// #endregion desk
const requests = provider.requests.map(({ system = "", tools }) => ({ system, tools: tools.map(({ name }) => name) }));
const refunds = result.calls.flatMap(({ name, args }) => (name === "refund" ? [(args as { id: string }).id] : []));
assert.ok(!JSON.stringify(provider.requests[1]?.messages).includes("transfer_to_billing"));

// #region next
const next = await runToolLoop({
  ...desk,
  messages: [...result.messages, { role: "user", content: "On Friday?" }],
  middleware: [agents.startWith(result.agent), checks],
});
// #endregion next
const nextSystem = provider.requests.at(-1)?.system ?? "";
assert.equal(next.text, "Yes, on Friday.");

// #region refused
const { reason } = await runToolLoop({ ...desk, messages: [{ role: "user", content: "How do I pick a lock?" }] });
if (reason.kind === "input-guardrail") console.log(`Refused by ${reason.guardrail}.`); // the result has the history and the usage
// #endregion refused

{
  // The check takes longer than the first piece of the answer.
  const slow: InputCheck = { name: "slow", check: async () => (await sleep(50), { kind: "refuse" }) };
  const events = createLoopEvents();
  const leaked: string[] = [];
  events.on("text-delta", ({ text: piece }) => leaked.push(piece));
  const refused = await runToolLoop({
    provider: createMockProvider([[text("First, you need"), toolCall("refund", { id: "8" })]]),
    tools: [refund],
    messages: [{ role: "user", content: "Hi" }],
    middleware: [guardrails({ input: [slow] })],
    events,
  });
  assert.deepEqual([refused.reason.kind, leaked, refused.toolCallsExecuted], ["input-guardrail", [], 0]);
}

export const facts: DeskFacts = { shown, requests, nextSystem, refunds };
globalThis.console.log("openai-agents-desk-after: the desk on turnwright holds.");
