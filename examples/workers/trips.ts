// A durable loop that plans trips. Every worker must define it.

import { setTimeout } from "node:timers/promises";
import { defineTool } from "turnwright";
import { defineDurableLoop, type DurableLoop } from "turnwright/dbos";
import { createMockProvider, text, toolCall, wait } from "turnwright/testing";

/** `legs` is the number of trains, and `paceMs` is the duration of each search. */
export type Trip = { readonly city: string; readonly legs: number; readonly paceMs: number };

const findTrain = defineTool<{ readonly leg: number; readonly paceMs: number }>({
  name: "find_train",
  description: "Finds a train for one leg of a trip",
  inputSchema: { type: "object", properties: { leg: { type: "integer" }, paceMs: { type: "integer" } } },
  // This search has no side effects, so it may be repeated after a crash.
  replay: "safe",
  execute: async ({ leg, paceMs }, { progress, signal }) => {
    progress({ worker: process.pid });
    await setTimeout(paceMs, undefined, { signal });
    return { leg, leaves: "09:04", worker: process.pid };
  },
});

export function defineTrips(): DurableLoop<Trip> {
  return defineDurableLoop({
    name: "trips",
    options: ({ city, legs, paceMs }: Trip) => ({
      provider: createMockProvider(({ iteration }) => {
        if (iteration >= legs) return text(`Your train to ${city} leaves at 09:04.`);
        return [text(`Leg ${iteration + 1}. `), wait(paceMs / 4), toolCall("find_train", { leg: iteration + 1, paceMs })];
      }),
      tools: [findTrain],
      limits: { maxIterations: legs + 1 },
      messages: [{ role: "user" as const, content: `I want to go to ${city}.` }],
    }),
  });
}
