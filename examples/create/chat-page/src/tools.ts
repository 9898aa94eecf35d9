import { defineTool, type Tool } from "turnwright";
import { z } from "zod";

const prices: Readonly<Record<string, number>> = { green: 4, black: 3, mint: 5 };

const findPrice = defineTool({
  name: "find_price",
  description: "Price of a tea in EUR. The teas are green, black and mint",
  inputSchema: z.object({ tea: z.string() }),
  execute: ({ tea }) => ({ tea, price: prices[tea] ?? "not sold" }),
});

const placeOrder = defineTool({
  name: "place_order",
  description: "Orders bags of a tea",
  inputSchema: z.object({ tea: z.string(), bags: z.number().int().min(1).max(10) }),
  needsApproval: true, // the page asks the user
  execute: ({ tea, bags }) => ({ ordered: `${bags} bags of ${tea} tea` }),
});

export const tools: readonly Tool[] = [findPrice, placeOrder];
