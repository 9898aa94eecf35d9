// Step 8 of the tutorial: the agent of the shop, in a file of its own. The program and its tests import it.

import { z } from "zod";
import { defineTool, type LoopOptions, type Provider, type Tool } from "turnwright";

const orders = new Map([["A-1042", { tea: "Earl Grey", paid: 12, status: "lost by the carrier" }]]);

const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number, such as A-1042",
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }) => orders.get(id) ?? "There is no such order.",
});

export const refund: Tool = defineTool({
  name: "refund",
  description: "Pays the price of an order back",
  inputSchema: z.object({ id: z.string(), euros: z.number() }),
  needsApproval: true,
  execute({ id, euros }) {
    const paid = orders.get(id)?.paid ?? 0;
    if (euros > paid) throw new Error(`The customer paid ${paid} EUR only.`);
    return { id, euros };
  },
});

export function answer(question: string, provider: Provider): LoopOptions {
  return {
    provider,
    tools: [findOrder, refund],
    system: "You help the customers of a tea shop. Be brief.",
    messages: [{ role: "user", content: question }],
  };
}
