// Step 6 of the tutorial: a process that dies.

import { z } from "zod";
import { defineTool, type Middleware, runToolLoop } from "turnwright";
import { fileJournal, inspectJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const orders = new Map([["A-1042", { tea: "Earl Grey", paid: 12, status: "lost by the carrier" }]]);

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number, such as A-1042",
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => orders.get(id) ?? "There is no such order.",
});

const refund = defineTool({
  name: "refund",
  description: "Pays the price of an order back",
  inputSchema: z.object({ id: z.string(), euros: z.number() }),
  needsApproval: true,
  execute({ id, euros }) {
    console.log(`[${euros} EUR are paid back]`);
    return { id, euros };
  },
});

// #region model
// A list of answers would begin again in each process, so this script looks at the transcript, as a model does.
const script = [
  toolCall("find_order", { id: "A-1042" }),
  toolCall("refund", { id: "A-1042", euros: 12 }),
  text("You get your 12 EUR back."),
];
const provider = createMockProvider(({ messages }) => script[messages.filter(({ role }) => role === "assistant").length]);
// #endregion model

// #region crash
const pullThePlug: Middleware = {
  name: "pull-the-plug",
  pure: true,
  on(event) {
    if (event.type === "tool-end" && event.name === "refund") process.kill(process.pid, "SIGKILL");
  },
};
// #endregion crash

// #region run
const file = "refund-1042.jsonl";
// The person who decides sees what waits, and says yes.
const waiting = process.argv.includes("approve") ? (await inspectJournal(file)).pendingCalls : [];

const result = await runToolLoop({
  provider,
  tools: [findOrder, refund],
  system: "You help the customers of a tea shop. Be brief.",
  messages: [{ role: "user", content: "Order A-1042 is lost. I want my money back." }],
  runId: "refund-1042",
  journal: fileJournal(file),
  answers: Object.fromEntries(waiting.map(({ id }) => [id, { kind: "approve" as const }])),
  middleware: process.argv.includes("crash") ? [pullThePlug] : [],
});
console.log(result.status, result.text);
for (const { name, args } of result.pendingCalls) console.log("Waits:", name, args);
// #endregion run
