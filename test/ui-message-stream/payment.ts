// The run calls "look" and then "pay", which needs an approval. Then it answers.

import { z } from "zod";
import { defineTool, type LoopOptions } from "turnwright";
import { createMockProvider, reasoning, text, toolCall } from "turnwright/testing";

export function setUpPayment(): { readonly ran: string[]; readonly run: Omit<LoopOptions, "messages"> } {
  const ran: string[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays",
    inputSchema: z.object({ amount: z.number().max(100) }),
    needsApproval: true,
    execute: ({ amount }) => {
      ran.push(`pay ${amount}`);
      return { paid: amount };
    },
  });
  const look = defineTool({
    name: "look",
    description: "Looks up",
    inputSchema: z.object({ name: z.string() }),
    execute: ({ name }, { progress }) => {
      ran.push(`look ${name}`);
      progress({ percent: 50 });
      return { price: 5 };
    },
  });
  const turns = [
    [reasoning("Look first."), text("One moment.", { chunks: 3 }), toolCall("look", { name: "tea" }, { fragments: 3 })],
    [text("Paying.", { chunks: 2 }), toolCall("pay", { amount: 5 }, { fragments: 2 })],
    text("It is paid.", { chunks: 3 }),
  ];
  // Chooses the message by the transcript. A resumed run may use a new provider, which has counted no calls.
  const provider = createMockProvider(({ messages }) => turns[messages.filter(({ role }) => role === "assistant").length]);
  return { ran, run: { provider, tools: [pay, look] } };
}
