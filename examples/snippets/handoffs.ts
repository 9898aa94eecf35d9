// Agents that hand a run over to one another.

import assert from "node:assert/strict";
import { createLoopEvents, defineTool, type Message, type Provider, runToolLoop } from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { createHandoffs, type HistoryFilter, withoutToolCalls } from "turnwright/middleware";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const messages: readonly Message[] = [{ role: "user", content: "My invoice 7 is wrong." }];
const shown: string[] = [];
const show = (line: string): void => void shown.push(line);
const toBilling = toolCall("transfer_to_billing", { reason: "an invoice" });
const provider = createMockProvider([toBilling, toolCall("find_invoice", { id: "7" }), text("It is 12 EUR.")]);

// #region agents
const inputSchema = z.object({ id: z.string() });
const findInvoice = defineTool({ name: "find_invoice", description: "Finds an invoice", inputSchema, execute: () => "12 EUR" });
const findOrder = defineTool({ name: "find_order", description: "Finds an order", inputSchema, execute: () => "sent" });
const getTime = defineTool({ name: "get_time", description: "Time of day", inputSchema: z.object({}), execute: () => "noon" });
const agents = createHandoffs({
  start: "triage",
  agents: {
    triage: {
      description: "Finds out the topic.",
      system: "Find out what the customer needs.",
      tools: [findOrder],
      handoffs: ["billing"], // gets the tool transfer_to_billing
    },
    billing: {
      description: "Answers questions about invoices.",
      system: "Answer questions about invoices.",
      tools: [findInvoice],
      handoffs: ["triage"],
    },
  },
});
const result = await runToolLoop({
  provider,
  messages,
  tools: [getTime, ...agents.tools], // every agent has get_time
  middleware: [agents],
});
console.log(`${result.agent}: ${result.text}`); // "billing: It is 12 EUR."
// #endregion agents
assert.deepEqual([result.agent, result.text], ["billing", "It is 12 EUR."]);
assert.deepEqual(
  provider.requests.map(({ system, tools }) => [system?.split(" ")[0], tools.map(({ name }) => name)]),
  [
    ["Find", ["get_time", "find_order", "transfer_to_billing"]],
    ["Answer", ["get_time", "find_invoice", "transfer_to_triage"]],
    ["Answer", ["get_time", "find_invoice", "transfer_to_triage"]],
  ],
);
assert.deepEqual(
  result.handoffs?.map(({ from, to, reason }) => [from, to, reason]),
  [["triage", "billing", "an invoice"]],
);

{
  const small: Provider = createMockProvider([text("It is 12 EUR.")]);
  const provider = createMockProvider([[text("One moment."), toBilling]]);
  // #region history
  const lastTen: HistoryFilter = (history) => withoutToolCalls(history).slice(-10);
  const agents = createHandoffs({
    start: "triage",
    maxHandoffs: 4,
    agents: {
      triage: { description: "Finds out the topic.", handoffs: ["billing"] },
      billing: { description: "Knows invoices.", provider: small, modelSettings: { temperature: 0 }, history: lastTen },
    },
  });
  // #endregion history
  const { text: said } = await runToolLoop({ provider, messages, tools: agents.tools, middleware: [agents] });
  assert.equal(said, "It is 12 EUR.");
}

{
  const provider = createMockProvider([text("It was sent in May.")]);
  // #region next
  // The next run begins as billing, whose filter still applies to the messages before the handoff.
  const next = agents.startWith(result.agent, result.handoffs?.at(-1)?.messagesBefore);
  const followUp = await runToolLoop({
    provider,
    messages: [...result.messages, { role: "user", content: "When was it sent?" }],
    tools: next.tools,
    middleware: [next],
  });
  // #endregion next
  assert.deepEqual([followUp.agent, followUp.text, followUp.handoffs], ["billing", "It was sent in May.", []]);
}

{
  const provider = createMockProvider([toBilling, text("Which invoice?"), text("It is 12 EUR.")]);
  const options = { provider, tools: agents.tools, middleware: [agents] };
  const conversation = createConversation({ id: "customer-7", store: memoryConversationStore(), options });
  const answer = (question: string) => conversation.send(question); // each run begins as the agent of the last one
  const answers = [await answer("My invoice is wrong."), await answer("Number 7.")];
  assert.deepEqual(
    answers.map(({ text: said, agent }) => [said, agent]),
    [
      ["Which invoice?", "billing"],
      ["It is 12 EUR.", "billing"],
    ],
  );
  assert.equal(provider.requests[2]?.system, "Answer questions about invoices.");
}

{
  const provider = createMockProvider([toBilling, text("Which invoice?")]);
  const events = createLoopEvents();
  events.on("handoff", ({ from, to, reason }) => show(`${from} -> ${to}: ${reason ?? "no reason"}`));
  events.on("iteration-start", ({ agent }) => show(`${agent} is writing`));
  await runToolLoop({ provider, messages, tools: agents.tools, middleware: [agents], events });
  // "triage is writing", "triage -> billing: an invoice", "billing is writing"
  assert.deepEqual(shown.splice(0), ["triage is writing", "triage -> billing: an invoice", "billing is writing"]);
}
