import { defineTool } from "turnwright";
import { text, toolCall, wait } from "turnwright/testing";

const orders = { "A-1042": { tea: "Earl Grey", paid: 12, status: "lost by the carrier" } };

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number, such as A-1042",
  inputSchema: { type: "object", properties: { id: { type: "string" } }, required: ["id"] },
  execute: ({ id }) => orders[id] ?? "There is no such order.",
});

const refund = defineTool({
  name: "refund",
  description: "Pays the price of an order back",
  inputSchema: {
    type: "object",
    properties: { id: { type: "string" }, euros: { type: "number" } },
    required: ["id", "euros"],
  },
  needsApproval: true,
  async execute({ id, euros }) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    return { id, euros };
  },
});

// The page runs a loop with what this program exports: `script`, `question`, and any option of runToolLoop.
export const question = "Order A-1042 is lost. I want my money back.";
export const system = "You help the customers of a tea shop.";
export const tools = [findOrder, refund];

// A script plays the model: one answer for each request.
export const script = [
  [text("Let me look. "), wait(1500), toolCall("find_order", { id: "A-1042" })],
  [text("I ask if I may pay it back. "), wait(1500), toolCall("refund", { id: "A-1042", euros: 12 })],
  [text("You get your 12 EUR back. ", { chunks: 5 }), wait(800), text("Sorry for the trouble!")],
];
