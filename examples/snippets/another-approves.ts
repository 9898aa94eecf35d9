// A customer chats, and a manager in another process decides about the customer's calls.

import assert from "node:assert/strict";
import { defineTool } from "turnwright";
import { memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { isRequestError, readUIChatRequest, toUIMessages } from "turnwright/ui-message-stream";
import { z } from "zod";

const paid: number[] = [];
const tools = [
  defineTool({
    name: "pay",
    description: "Pays an amount",
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => paid.push(amount),
  }),
];
const provider = createMockProvider([toolCall("pay", { amount: 500 }), text("Paid.")]);
const store = memoryConversationStore();
const customers = createRunHost({ store });
const host = createRunHost({ store });

// #region customer
/** Reads a request of the customer's page. */
const readRequest = (request: Request) => readUIChatRequest(request, { allowDecisions: false });

/** GET /api/chat/:id/messages. Check here that the customer may use this chat. */
async function getMessages(id: string): Promise<Response> {
  const { messages = [], turns } = (await host.status(id)) ?? {};
  return Response.json(toUIMessages(messages, { version: 7, turns }).messages);
}
// #endregion customer

// #region manager
/** GET /api/approvals. Check in both routes that the user is a manager. */
async function listWaiting(): Promise<Response> {
  const waiting: object[] = [];
  for await (const { id: chat } of host.list()) {
    const { reason } = (await host.status(chat)) ?? {};
    if (reason?.kind !== "approval-required") continue;
    for (const { id, name, args } of reason.calls) waiting.push({ chat, id, name, args });
  }
  return Response.json(waiting);
}

/** POST /api/approvals/:chat/:id */
async function decide(chat: string, id: string, by: string): Promise<Response> {
  const answers = { [id]: { kind: "approve" as const, by } }; // or { kind: "deny", reason, by }
  const { kind } = await host.resume(chat, { provider, tools, answers, whenBusy: "queue" });
  return new Response(null, { status: kind === "started" ? 202 : 409 }); // now tell the customer's page to read its messages
}
// #endregion manager

const started = await customers.start("chat", { provider, tools, message: "Pay the bill." });
assert.equal(started.kind === "started" && (await started.result).status, "suspended");
const approval = { id: "chat/1:call_i0_0", approved: true };
const parts = [{ type: "tool-pay", toolCallId: "chat/1:call_i0_0", state: "approval-responded", approval }];
const request = new Request("http://localhost/api/chat", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ id: "chat", messages: [{ id: "chat/1", role: "assistant", parts }] }),
});
await assert.rejects(readRequest(request), (error) => isRequestError(error) && error.status === 403);
assert.deepEqual(await (await listWaiting()).json(), [{ chat: "chat", id: "call_i0_0", name: "pay", args: { amount: 500 } }]);
assert.equal((await decide("chat", "call_i0_0", "manager-7")).status, 202);
for await (const { event } of host.join("chat") ?? []) if (event.type === "run-end") assert.equal(event.status, "completed");
await host.close();
assert.deepEqual(paid, [500]);
assert.match(await (await getMessages("chat")).text(), /"Paid\."/);
assert.equal((await customers.status("chat"))?.status, "completed");
assert.equal(customers.join("chat"), undefined);
await customers.close();
