// A call waits for a permission of the page and for a webhook, and a request waits for the page.

import { z } from "zod";
import { defineTool, type LoopOptions, type Middleware } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

export const ids = { permission: "call_i0_0", webhook: "call_i0_0#2" };
const permission = z.object({ kind: z.enum(["approve", "deny"]), amount: z.number().max(100) });

/** With `isAsked`, the last request waits too. */
export function setUpPermission(isAsked = false): { readonly ran: unknown[]; readonly run: Omit<LoopOptions, "messages"> } {
  const ran: unknown[] = [];
  const pay = defineTool({
    name: "pay",
    description: "Pays",
    inputSchema: z.object({}),
    durable: true,
    async execute(_args, { step, wait }) {
      const given = await wait("permission", { risk: "high" }, { schema: permission, fromPage: true });
      const booking = await wait("booking", { secret: "s3" }, { schema: z.object({ kind: z.enum(["approve", "booked"]) }) });
      await step("pay", () => ran.push([given, booking]));
      return "paid";
    },
  });
  const asking: Middleware = {
    name: "asking",
    async request(request, next, at) {
      if (isAsked && at.state.iteration === 1) ran.push(await at.wait("model", { tokens: 9 }, { fromPage: true }));
      return next(request);
    },
  };
  // Chooses the message by the transcript. A resumed run may use a new provider, which has counted no calls.
  const provider = createMockProvider(({ messages }) => (messages.length === 1 ? [toolCall("pay", {})] : text("It is paid.")));
  return { ran, run: { provider, tools: [pay], middleware: [asking] } };
}
