// The agent that is tested: it answers customers, and pays orders back.

import { defineTool, type LoopOptions, type Provider, type Tool } from "turnwright";
import { z } from "zod";

export interface Shop {
  readonly orders: Map<number, { readonly price: number; readonly isPaidBack: boolean }>;
}

export function createShop(): Shop {
  return {
    orders: new Map([
      [7, { price: 40, isPaidBack: false }],
      [8, { price: 15, isPaidBack: true }],
    ]),
  };
}

export function supportAgent(shop: Shop, provider: Provider): Omit<LoopOptions<unknown, Tool>, "messages"> {
  const getOrder = defineTool({
    name: "get_order",
    description: "Returns an order of the shop",
    inputSchema: z.object({ order: z.number() }),
    execute: ({ order }) => shop.orders.get(order) ?? "There is no such order.",
  });
  const refund = defineTool({
    name: "refund",
    description: "Pays an order back. Look at the order first: nobody may be paid twice.",
    inputSchema: z.object({ order: z.number() }),
    execute({ order }) {
      const found = shop.orders.get(order);
      if (found === undefined) throw new Error(`There is no order ${order}.`);
      shop.orders.set(order, { ...found, isPaidBack: true });
      return { paid: found.price };
    },
  });
  return {
    provider,
    tools: [getOrder, refund],
    system: "You work for a shop. Answer in one or two sentences.",
    pricing: ({ inputTokens, outputTokens }) => (inputTokens * 1 + outputTokens * 4) / 1_000_000,
    limits: { maxIterations: 8 },
  };
}
