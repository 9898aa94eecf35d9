// Step 2 of the tutorial: a tool.

import { z } from "zod";
import { defineTool, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const orders = new Map([["A-1042", { tea: "Earl Grey", paid: 12, status: "lost by the carrier" }]]);

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number, such as A-1042",
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => orders.get(id) ?? "There is no such order.",
});

const provider = createMockProvider([
  toolCall("find_order", { id: "A-1042" }),
  text("I am sorry: the carrier lost your Earl Grey."),
]);

const result = await runToolLoop({
  provider,
  tools: [findOrder],
  system: "You help the customers of a tea shop. Be brief.",
  messages: [{ role: "user", content: "Where is my order A-1042?" }],
});

for (const { name, args, result: found } of result.calls) console.log(name, args, found);
console.log(result.text);
