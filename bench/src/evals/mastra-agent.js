// The support agent, written with Mastra. The world of a trial is found by the request context, which has the id of its case.
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { modelOf } from "./ai-sdk-agent.js";
import { beginTrial } from "./script.js";

/** @typedef {{ readonly text: string, readonly shop: import("./script.js").Shop, model?: any }} World */

/** @type {Map<string, World>} */
export const worlds = new Map();

/** @param {{ get(name: string): unknown }} requestContext @returns {World} */
function worldOf(requestContext) {
  const world = worlds.get(String(requestContext.get("case")));
  if (world === undefined) throw new Error("There is no world.");
  return world;
}

export const agent = new Agent({
  id: "support",
  name: "support",
  instructions: "You help customers.",
  // Mastra calls this function several times in a trial. `expectEval` first calls it without the request context, to see the kind of the
  // model.
  model({ requestContext }) {
    if (requestContext.get("case") === undefined) return modelOf(() => ({}));
    const world = worldOf(requestContext);
    world.model ??= modelOf(beginTrial(world.text));
    return world.model;
  },
  tools: ({ requestContext }) => ({
    refund: createTool({
      id: "refund",
      description: "Pays the money for an order back",
      inputSchema: z.object({ order: z.number() }),
      execute: async ({ order }) => {
        worldOf(requestContext).shop.paid.push(order);
        return "paid";
      },
    }),
  }),
  maxRetries: 0,
});
