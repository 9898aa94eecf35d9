// A chat with `useChat`: the code of the server and of the page.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { defineTool, memoryJournal, streamToolLoop, type Journal, type Message } from "turnwright";
import { isRequestError, pipeUIMessageStream, readUIChatRequest, toUIMessageStreamResponse } from "turnwright/ui-message-stream";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { useChat } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses, lastAssistantMessageIsCompleteWithToolCalls } from "ai";
import { z } from "zod";

const payments: number[] = [];
const tools = [
  defineTool({
    name: "pay",
    description: "Pays an amount",
    inputSchema: z.object({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }) => payments.push(amount),
  }),
];
const turns = [[text("I pay."), toolCall("pay", { amount: 20 })], text("Paid.")];
const provider = createMockProvider(({ messages }) => turns[messages.filter(({ role }) => role === "assistant").length]);

// #region simple-route
const histories = new Map<string, readonly Message[]>();

/** POST /api/chat */
async function postMessage(request: Request): Promise<Response> {
  const { id, trigger, message } = await readUIChatRequest(request); // check here that the user may use this chat
  if (message === undefined || trigger === "regenerate") return new Response("There is no new message.", { status: 400 });
  const stream = streamToolLoop({ provider, messages: [...(histories.get(id) ?? []), message] });
  void stream.result.then(({ messages }) => histories.set(id, messages), console.error);
  return toUIMessageStreamResponse(stream, { version: 7 }); // the major version of `ai` in the page
}
// #endregion simple-route

// #region answer
interface Chat {
  history: readonly Message[];
  /** The latest run. If it waits for a person's decision, it can be continued. */
  run?: { readonly runId: string; readonly journal: Journal; readonly messages: readonly Message[] };
}
const chats = new Map<string, Chat>();

/** POST /api/chat. The body contains a new message, or answers for calls that wait. */
async function answer(request: Request): Promise<Response> {
  const { id, message, answers, continues } = await readUIChatRequest(request); // check here that the user may use this chat
  const chat = chats.get(id) ?? { history: [] };
  chats.set(id, chat);
  if (message !== undefined)
    chat.run = { runId: `${id}/${chat.history.length}`, journal: memoryJournal(), messages: [...chat.history, message] };
  // A tab may still show an earlier run. Decisions about that run are refused.
  if (chat.run === undefined || (message === undefined && continues !== chat.run.runId))
    return new Response("Nothing waits here.", { status: 409 });
  const stream = streamToolLoop({ provider, tools, ...chat.run, answers });
  // An answer that a page sends twice is refused. Without `console.error`, this would end the process.
  void stream.result.then(({ messages }) => (chat.history = messages), console.error);
  return toUIMessageStreamResponse(stream, { version: 7, from: message === undefined ? "live" : "start" });
}
// #endregion answer

// #region page
function usePayments() {
  const chat = useChat({ id: "chat", sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses });
  const approve = (id: string) => chat.addToolApprovalResponse({ id, approved: true });
  const deny = (id: string) => chat.addToolApprovalResponse({ id, approved: false, reason: "Too much." });
  // `useChat` cannot send edited arguments with an approval. This function sends them in a separate field of the body.
  const edit = (id: string, args: object) =>
    chat.sendMessage(undefined, { body: { answers: { [id]: { kind: "modify", args } } } });
  return { ...chat, approve, deny, edit };
}
// #endregion page
assert.equal(typeof usePayments, "function");

// #region client-tools
function useQuestions() {
  const chat = useChat({ id: "chat", sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls });
  // Show a question for each part "tool-ask_user" with the state "input-available". Call this function when the user answers.
  const answerQuestion = (toolCallId: string, answer: string) =>
    chat.addToolOutput({ tool: "ask_user", toolCallId, output: { answer } });
  return { ...chat, answerQuestion };
}
// #endregion client-tools
assert.equal(typeof useQuestions, "function");

const post = (body: object) =>
  new Request("http://localhost/api/chat", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
const user = { id: "u", role: "user", parts: [{ type: "text", text: "Pay the bill." }] };
const answered = await (await postMessage(post({ id: "simple", messages: [user] }))).text();
assert.match(answered, /"delta":"I pay\."/);
const first = await (await answer(post({ id: "chat", messages: [user] }))).text();
assert.match(first, /"tool-approval-request","approvalId":"chat\/0:call_i0_0"/);
const approval = { id: "chat/0:call_i0_0", approved: true };
const parts = [{ type: "tool-pay", toolCallId: "chat/0:call_i0_0", state: "approval-responded", approval }];
const second = await (await answer(post({ id: "chat", messages: [user, { id: "chat/0", role: "assistant", parts }] }))).text();
assert.doesNotMatch(second, /I pay/);
assert.match(second, /"delta":"Paid\."/);
const other = [{ ...parts[0], approval: { id: "chat/0:other", approved: true } }];
await (
  await answer(post({ id: "chat", messages: [user, { id: "chat/0", role: "assistant", parts: other }] }))
)
  .text()
  .catch(() => {});
await new Promise((resolve) => setImmediate(resolve)); // the run refuses the decision, and the process goes on
assert.deepEqual(payments, [20]);

{
  const messages: readonly Message[] = [];
  /** POST /api/chat, for a server that uses node:http. */
  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const { message } = await readUIChatRequest(req, { maxBytes: 200_000, allowedMediaTypes: ["image/*"], maxFiles: 3 });
      if (message === undefined) throw new Error("This chat has no approvals.");
      await pipeUIMessageStream(streamToolLoop({ provider, messages: [...messages, message] }), res, { keepAliveMs: 10_000 });
    } catch (error) {
      if (!isRequestError(error)) throw error;
      res.writeHead(error.status).end(error.message); // 400, 408, 413 or 415
    }
  }
  const server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const init = { method: "POST", headers: { "content-type": "application/json" } };
  const response = await fetch(url, { ...init, body: JSON.stringify({ id: "chat", messages: [user] }) });
  assert.match(await response.text(), /"delta":"I pay\."/);
  assert.equal((await fetch(url, { ...init, body: "{" })).status, 400);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
