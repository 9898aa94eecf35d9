// Step 3 of the tutorial: a stream.

import { z } from "zod";
import { defineTool, streamToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const orders = new Map([["A-1042", { tea: "Earl Grey", paid: 12, status: "lost by the carrier" }]]);

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number, such as A-1042",
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => orders.get(id) ?? "There is no such order.",
});

const provider = createMockProvider([
  [text("Let me look."), toolCall("find_order", { id: "A-1042" })],
  text("I am sorry: the carrier lost your Earl Grey.", { chunks: 8 }),
]);

const stream = streamToolLoop({
  provider,
  tools: [findOrder],
  system: "You help the customers of a tea shop. Be brief.",
  messages: [{ role: "user", content: "Where is my order A-1042?" }],
});

// #region events
for await (const event of stream) {
  if (event.type === "text-delta") process.stdout.write(event.text);
  if (event.type === "tool-start") console.log(`\n[${event.name} starts]`);
  if (event.type === "tool-end") console.log(`[${event.name}: ${event.outcome}]`);
}
const result = await stream.result;
console.log(`\n${result.status} after ${result.iterations} iterations`);
// #endregion events
