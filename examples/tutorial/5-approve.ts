// Step 5 of the tutorial: an approval.

import { z } from "zod";
import { defineTool, type LoopOptions, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const orders = new Map([["A-1042", { tea: "Earl Grey", paid: 12, status: "lost by the carrier" }]]);

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number, such as A-1042",
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => orders.get(id) ?? "There is no such order.",
});

// #region refund
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
// #endregion refund

const provider = createMockProvider([
  toolCall("find_order", { id: "A-1042" }),
  toolCall("refund", { id: "A-1042", euros: 12 }),
  text("You get your 12 EUR back."),
]);

// #region run
const options: LoopOptions = {
  provider,
  tools: [findOrder, refund],
  system: "You help the customers of a tea shop. Be brief.",
  messages: [{ role: "user", content: "Order A-1042 is lost. I want my money back." }],
};

const first = await runToolLoop(options);
console.log(first.status, first.reason.kind);
for (const { name, args } of first.pendingCalls) console.log("May I?", name, args);

// Here, a person decides.
const answers = Object.fromEntries(first.pendingCalls.map(({ id }) => [id, { kind: "approve" as const }]));
const second = await runToolLoop({ ...options, runId: first.runId, journal: first.journal, answers });
console.log(second.status, second.text);
// #endregion run
