// One process of `goes-on.ts`. Prints what it does, one line for each event.

import { appendFileSync } from "node:fs";
import { defineTool, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";

const [, , ledger = "", journal = "", network = ""] = process.argv;
const charge = defineTool({
  name: "charge_card",
  description: "Charges the card",
  inputSchema: { type: "object" },
  execute() {
    appendFileSync(ledger, "640 USD\n");
    return { receipt: "r-17" };
  },
});
const answer = network === "down" ? stall() : text("Paid. Your receipt is r-17.");
// A script would begin again in the second process. A real model answers what it reads.
const provider = createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("charge_card") : answer));
const result = await runToolLoop({
  provider,
  tools: [charge],
  messages: [{ role: "user", content: "Pay the invoice." }],
  runId: "invoice-9",
  journal: fileJournal(journal),
  middleware: [{ name: "print", pure: true, on: ({ type }) => type === "tool-end" && console.log(type) }],
});
console.log(result.text);
