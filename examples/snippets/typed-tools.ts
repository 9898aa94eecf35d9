// Samples for docs/guides/typed-tools.md.

import assert from "node:assert/strict";
import {
  approve,
  defineTool,
  isCallOf,
  type LoopOptions,
  type LoopResult,
  type Middleware,
  runToolLoop,
  streamToolLoop,
  type ToolContext,
} from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

// #region tools
interface App {
  readonly userId: string;
  readonly orders: ReadonlyMap<string, { readonly owner: string; readonly total: number }>;
}

const findOrder = defineTool({
  name: "find_order",
  description: "An order of the user",
  inputSchema: z.object({ id: z.string() }),
  execute: ({ id }, { context }: ToolContext<App>) => {
    const order = context.orders.get(id);
    if (order?.owner !== context.userId) throw new Error(`There is no order ${id}.`);
    return { id, total: order.total };
  },
});
// #endregion tools
// #region bound
const defineAppTool = defineTool<App>();

const refund = defineAppTool({
  name: "refund",
  description: "Refunds a part of an order",
  inputSchema: z.object({ id: z.string(), amount: z.number() }),
  needsApproval: ({ amount }, { context }) => amount > 100 || context.userId === "guest",
  execute: ({ id, amount }, { context }) => ({ refunded: amount, order: id, by: context.userId }),
});
// #endregion bound
const script = [
  [toolCall("find_order", { id: "7" }), toolCall("find_order", { id: "8" })],
  toolCall("refund", { id: "7", amount: 5 }),
  text("Done."),
];
const provider = createMockProvider(({ iteration }) => script[iteration]);
// #region run
const context: App = { userId: "ada", orders: new Map([["7", { owner: "ada", total: 40 }]]) };
const tools = [findOrder, refund];
const result = await runToolLoop({
  provider,
  tools,
  middleware: [approve()],
  messages: [{ role: "user", content: "Refund 5 euros of order 7.", metadata: { messageId: "m1" } }],
  context, // required, because the tools need an App
});
// #endregion run
const warnings: unknown[] = [];
const shown: string[] = [];
const console = {
  log: (line: string): void => void shown.push(line),
  warn: (...details: readonly unknown[]): void => void warnings.push(details),
};
// #region calls
let refunded = 0;
for (const call of result.calls) {
  if (call.name === "refund" && call.outcome === "completed") refunded += call.result.refunded; // a number
  if (call.outcome === "failed") console.warn(call.name, call.args, call.result); // args and result are Json
}
// #endregion calls
assert.deepEqual([refunded, warnings.length], [5, 1]);
assert.deepEqual(
  result.calls.map(({ name, outcome }) => `${name}: ${outcome}`),
  ["find_order: completed", "find_order: failed", "refund: completed"],
);
// #region is-call-of
const middleware: readonly Middleware[] = [
  approve((call) =>
    isCallOf(refund, call) && call.args.amount > 50 ? { kind: "deny", reason: "At most 50 euros." } : { kind: "approve" },
  ),
];
// #endregion is-call-of
const messages = [{ role: "user" as const, content: "Refund 5 euros of order 7." }];
// #region events
for await (const event of streamToolLoop({ provider, tools, messages, context, middleware })) {
  if (event.type === "tool-start" && isCallOf(refund, event)) console.log(`Refunding ${event.args.amount} euros ...`);
  if (event.type === "tool-end" && isCallOf(findOrder, event) && event.outcome === "completed")
    console.log(`Order ${event.result.id}: ${event.result.total} euros`);
}
// #endregion events
assert.deepEqual(shown, ["Order 7: 40 euros", "Refunding 5 euros ..."]);
// #region options
type ShopTool = (typeof tools)[number];
const options = (question: string): LoopOptions<unknown, ShopTool> => ({
  provider,
  tools,
  middleware: [approve()],
  messages: [{ role: "user", content: question }],
  context,
});
const refundsOf = ({ calls }: LoopResult<unknown, ShopTool>): number =>
  calls.filter((call) => isCallOf(refund, call) && call.outcome === "completed").length;
// #endregion options
assert.equal(refundsOf(await runToolLoop(options("Refund 5 euros."))), 1);
// #region metadata
const [question] = result.messages;
const messageId = question?.role === "user" ? question.metadata?.["messageId"] : undefined; // "m1"
// #endregion metadata
assert.equal(messageId, "m1");
const chat = createConversation({
  id: "chat-7",
  store: memoryConversationStore(),
  options: { provider, tools, middleware: [approve()], context }, // an error without the context
});
for (const call of (await chat.send("Refund 5 euros of order 7.")).calls) {
  if (call.name === "refund" && call.outcome === "completed") console.log(`Refunded: ${call.result.refunded} euros`);
}
assert.equal(shown.at(-1), "Refunded: 5 euros");
