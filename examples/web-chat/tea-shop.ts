// The tools of a tea shop. One reports progress, one needs a person's approval, and one is an agent.

import { defineAgentTool, defineTool, type Pricing, type Provider } from "turnwright";
import type { HostedLoopOptions } from "turnwright/host";
import { z } from "zod";

export const researcherPrompt = "You compare teas for a customer. Look up both prices, then answer in two sentences.";

const prices = new Map([
  ["Sencha", 9.5],
  ["Assam", 6],
]);

const orderSchema: z.ZodType<Order> = z.object({ tea: z.string().max(50), bags: z.number().int().min(1).max(20) });

export interface Order {
  readonly tea: string;
  readonly bags: number;
}

export function readOrder(value: unknown): Order | undefined {
  return orderSchema.safeParse(value).data;
}

/** Slows the model and the tools down, so that users can watch their progress. Rejects when the signal is aborted. */
export type Pace = (signal: AbortSignal) => Promise<void>;

export interface ShopModel {
  readonly provider: Provider;
  readonly pricing: Pricing;
  readonly pace: Pace;
}

export function createShop({ provider, pricing, pace }: ShopModel, onOrder: (order: Order) => void): HostedLoopOptions {
  const lookUpPrice = defineTool({
    name: "look_up_price",
    description: "Looks up the price of a tea, in EUR for a bag of 100 g",
    inputSchema: z.object({ tea: z.string().max(50) }),
    async execute({ tea }, { progress, signal }) {
      for (const percent of [0, 50]) {
        progress({ percent });
        await pace(signal);
      }
      return { tea, eur: prices.get(tea) ?? 8 };
    },
  });
  const placeOrder = defineTool({
    name: "place_order",
    description: "Orders bags of a tea. The customer has to approve it.",
    inputSchema: orderSchema,
    needsApproval: true,
    execute(order) {
      onOrder(order);
      return order;
    },
  });
  const askResearcher = defineAgentTool({
    name: "ask_researcher",
    description: "Lets a researcher compare teas",
    inputSchema: z.object({ question: z.string().max(500) }),
    prepare: ({ question }) => ({
      system: researcherPrompt,
      messages: [{ role: "user", content: question }],
      tools: [lookUpPrice],
      limits: { maxIterations: 5 },
    }),
  });
  return {
    provider,
    pricing,
    tools: [lookUpPrice, placeOrder, askResearcher],
    system: "You work in a tea shop. Be short. Look up a price before you order, and let the researcher compare teas.",
    limits: { maxIterations: 10, wallClockMs: 300_000 },
  };
}
