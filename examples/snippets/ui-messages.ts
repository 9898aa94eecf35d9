// A chat with `useChat`: the code of the server and of the page.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { defineTool, streamToolLoop, type Message } from "turnwright";
import { createRunHost } from "turnwright/host";
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
const host = createRunHost(); // in your program: with a store in files or in Postgres

/** POST /api/chat. The body has a new message, or answers for calls that wait. */
async function answer(request: Request): Promise<Response> {
  const { id, message, answers, continues } = await readUIChatRequest(request); // check here that the user may use this chat
  if (message !== undefined) {
    const started = await host.start(id, { provider, tools, message }); // a new, edited or repeated message
    return started.kind === "started" ? toUIMessageStreamResponse(started.join(), { version: 7 }) : refuse();
  }
  // A tab may still show an earlier run. Its answers are refused.
  if ((await host.status(id))?.runId !== continues) return refuse();
  const resumed = await host.resume(id, { provider, tools, answers });
  return resumed.kind === "started" ? toUIMessageStreamResponse(resumed.join(), { version: 7, from: "live" }) : refuse();
}

/** GET /api/chat/:id/stream. A page that is reloaded sends this request. */
function reload(id: string): Response {
  return toUIMessageStreamResponse(host.join(id), { version: 7 }); // status 204 if no run is live
}

const refuse = (): Response => new Response("This is not possible now. Reload the page.", { status: 409 });
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
assert.match(first, /"tool-approval-request","approvalId":"chat\/1:call_i0_0"/);
const approval = { id: "chat/1:call_i0_0", approved: true };
const parts = [{ type: "tool-pay", toolCallId: "chat/1:call_i0_0", state: "approval-responded", approval }];
const waiting = post({ id: "chat", messages: [user, { id: "chat/0", role: "assistant", parts }] });
assert.equal((await answer(waiting)).status, 409); // the message belongs to another run
const second = await (await answer(post({ id: "chat", messages: [user, { id: "chat/1", role: "assistant", parts }] }))).text();
assert.doesNotMatch(second, /I pay/);
assert.match(second, /"delta":"Paid\."/);
assert.match(await reload("chat").text(), /"delta":"I pay\."[^]*"delta":"Paid\."/);
assert.equal(reload("unknown").status, 204);
await host.close();
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
