// Step 7 of the tutorial: a page that shows the run.

import { readFileSync, writeFileSync } from "node:fs";
import { z } from "zod";
import { defineTool, runToolLoop } from "turnwright";
import { renderRunPage, runLog } from "turnwright/inspect";
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
  middleware: [runLog({ to: "refund-1042.log.jsonl" })],
});
console.log(result.status, result.text);
for (const { name, args } of result.pendingCalls) console.log("Waits:", name, args);
// #endregion run

// #region page
const log = { name: "refund-1042", text: readFileSync("refund-1042.log.jsonl", "utf8") };
writeFileSync("run.html", await renderRunPage(log));
console.log("Open run.html");
// #endregion page
