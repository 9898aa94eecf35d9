// A durable loop that plans trips. Every worker must define it.

import { defineTool } from "turnwright";
import { defineDurableLoop, type DurableLoop } from "turnwright/dbos";
import { createMockProvider, text, toolCall, wait } from "turnwright/testing";

const findTrain = defineTool<{ readonly city: string }>({
  name: "find_train",
  description: "Finds a train",
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
  // This search has no side effects, so it may be repeated after a crash.
  replay: "safe",
  execute: async ({ city }) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return { city, leaves: "09:04", worker: process.pid };
  },
});

export function defineTrips(): DurableLoop<{ readonly city: string }> {
  return defineDurableLoop({
    name: "trips",
    options: ({ city }: { readonly city: string }) => ({
      provider: createMockProvider(({ iteration }) => {
        if (iteration === 3) return text(`Your train to ${city} leaves at 09:04.`);
        return [text("I look. "), wait(100), toolCall("find_train", { city })];
      }),
      tools: [findTrain],
      messages: [{ role: "user" as const, content: `I want to go to ${city}.` }],
    }),
  });
}
