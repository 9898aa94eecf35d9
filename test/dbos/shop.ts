// A durable host for tests with two processes. The answers contain the id of the process that executes the run.

import { once } from "node:events";
import { defineTool, type Message } from "turnwright";
import { defineDurableHost, type DurableHost } from "turnwright/dbos";
import type { DurableHostFields } from "../../src/host/durable/durable-host.ts";
import { createMockProvider, text, toolCall, wait } from "turnwright/testing";

const order = defineTool({
  name: "order",
  description: "Orders tea",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => ({ ordered: 1 }),
});
const pack = defineTool({ name: "pack", description: "A person packs the tea", inputSchema: { type: "object" } });

/** Ends the answer to "Hold." in the process that gets this signal. */
export const RELEASE = "SIGUSR2";
const released = once(process, RELEASE);

/** The model obeys the last user message. */
export const shopFields: DurableHostFields = {
  name: "shop",
  options: ({ input }) => {
    if (input === "broken") throw new Error("The options are broken.");
    return createOptions(input);
  },
};

function wishIn(messages: readonly Message[]): unknown {
  const last = messages.at(-1);
  return last?.role === "user" ? last.content : undefined;
}

function createOptions(input: unknown): ReturnType<DurableHostFields["options"]> {
  const provider = createMockProvider(({ messages }) => {
    const wish = wishIn(messages);
    if (wish === "Order.") return [text("I order."), toolCall("order", {})];
    if (wish === "Pack.") return toolCall("pack", {});
    if (wish === "Think.") return [text("Hm."), wait(10_000), text(" So.")];
    if (wish === "Fail.") throw new Error("No.");
    const said = messages.filter(({ role }) => role === "user").length;
    return [text(`Message ${said}`), wait(50), text(` for ${JSON.stringify(input)} in ${process.pid}.`)];
  });
  return {
    provider: {
      ...provider,
      async *stream(request, call) {
        if (wishIn(request.messages) === "Hold.") await released;
        yield* provider.stream(request, call);
      },
    },
    tools: [order, pack],
  };
}

export function defineShop(): DurableHost {
  return defineDurableHost(shopFields);
}

export function defineKeeping(): DurableHost {
  return defineDurableHost({ ...shopFields, name: "keeping", keepRuns: 2 });
}
