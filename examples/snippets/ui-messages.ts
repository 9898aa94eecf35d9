// A chat with `useChat`: the code of the server and of the page.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { defineTool, streamToolLoop, type Message } from "turnwright";
import { createRunHost, type HostedRun, type RunHost } from "turnwright/host";
import {
  isRequestError,
  type PageFailure,
  pipeUIMessageStream,
  readUIChatRequest,
  toUIMessages,
  toUIMessageStreamResponse,
} from "turnwright/ui-message-stream";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { useChat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  type UIMessage,
} from "ai";
import { useEffect } from "react";
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
  void stream.result.then(({ messages, error }) => {
    histories.set(id, messages);
    if (error !== undefined) console.error(error); // the page only shows that the run failed
  }, console.error);
  return toUIMessageStreamResponse(stream, { version: 7 }); // the major version of `ai` in the page
}
// #endregion simple-route

// #region answer
const shared = globalThis as { host?: RunHost }; // survives the hot reload of a development server
const host = (shared.host ??= createRunHost()); // in your program, pass { store: postgresConversationStore(pool) }
const version = 7; // the major version of `ai` in the page

/** POST /api/chat. The body has a new message, or answers for calls that wait. */
async function answer(request: Request): Promise<Response> {
  const { id, message, answers, continues } = await readUIChatRequest(request); // check here that the user may use this chat
  if (message !== undefined) {
    const started = await host.start(id, { provider, tools, message }); // a new, edited or repeated message
    return started.kind === "started" ? show(started, "start") : refuse();
  }
  // A tab may still show an earlier run. Its answers are refused.
  if ((await host.status(id))?.runId !== continues) return refuse();
  const resumed = await host.resume(id, { provider, tools, answers });
  return resumed.kind === "started" ? show(resumed, "live") : refuse();
}

/** GET /api/chat/:id/stream. A page sends this request when it is reloaded, and when its run was cut off. */
async function reload(id: string): Promise<Response> {
  await host.status(id); // forgets what this process knows of a run that another process has continued
  if (host.join(id) === undefined) {
    const resumed = await host.resume(id, { provider, tools }); // after a crash or a deployment
    if (resumed.kind === "busy") return new Response("Try again in 30 seconds.", { status: 503 }); // another process has it
  }
  return toUIMessageStreamResponse(host.join(id), { version }); // status 204 if there is no run to read
}

/** DELETE /api/chat/:id/run. Check here that the user may use this chat. */
function stopRun(id: string): Response {
  return new Response(null, { status: host.stop(id, { requester: "page" }) === "accepted" ? 202 : 409 });
}

function show(run: HostedRun, from: "start" | "live"): Response {
  void run.result.then(({ error }) => error !== undefined && console.error(error), console.error); // the page has no details
  return toUIMessageStreamResponse(run.join(), { version, from });
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
  // `chat.stop` would only end the reading of this tab: the run would go on, and refuse the next message.
  const stop = () => fetch(`/api/chat/${chat.id}/run`, { method: "DELETE" });
  return { ...chat, approve, deny, edit, stop };
}
// #endregion page
assert.equal(typeof usePayments, "function");

// #region cut
/** Goes on with an answer that a deployment or a lost connection has cut off. */
function useGoOn({ messages, status, error, resumeStream }: ReturnType<typeof useChat>): void {
  const { role, metadata } = messages.at(-1) ?? {};
  const { reason } = (metadata ?? {}) as { readonly reason?: { readonly kind: string } };
  const isCut = role === "assistant" && (error instanceof TypeError || reason?.kind === "drained");
  const isIdle = status === "ready" || status === "error";
  useEffect(() => {
    if (!isCut || !isIdle) return;
    const timer = setTimeout(() => void resumeStream(), 2_000); // the server needs a moment to restart
    return () => clearTimeout(timer);
  }, [isCut, isIdle, error, resumeStream]);
}
// #endregion cut
assert.equal(typeof useGoOn, "function");

// #region load
/** GET /api/chat/:id. Check here that the user may use this chat. */
async function load(id: string): Promise<Response> {
  const { status, messages = [], turns } = (await host.status(id)) ?? {};
  const isOpen = status === "running" || status === "suspended"; // the page then streams the last answer
  const end = isOpen ? messages.map(({ role }) => role).lastIndexOf("user") + 1 : messages.length;
  const shown = toUIMessages(messages.slice(0, end), { version, turns });
  return Response.json({ messages: shown.messages, isOpen });
}
// #endregion load

// #region stored
interface Stored {
  readonly messages: UIMessage[];
  readonly isOpen: boolean;
}

/** Shows what the server has stored of the chat, and goes on with an answer that is not complete. */
function useStored({ id, setMessages, resumeStream }: ReturnType<typeof useChat>): void {
  useEffect(() => {
    let isShown = true;
    const show = async (): Promise<void> => {
      const response = await fetch(`/api/chat/${id}`);
      const { messages, isOpen } = (await response.json()) as Stored;
      if (!isShown) return;
      setMessages(messages);
      if (isOpen) await resumeStream(); // sends GET /api/chat/:id/stream
    };
    show().catch(console.error);
    return () => void (isShown = false);
  }, [id, setMessages, resumeStream]);
}
// #endregion stored
assert.equal(typeof useStored, "function");

// #region files
const transport = new DefaultChatTransport({
  // By default, each request contains the whole chat, with all its photos. The server only reads the last message.
  prepareSendMessagesRequest: ({ id, messages, trigger, messageId, body }) => ({
    body: { ...body, id, trigger, messageId, messages: messages.slice(-1) },
  }),
});

function usePhotos() {
  const chat = useChat({ transport });
  const send = (text: string, files: FileList) => chat.sendMessage({ text, files }); // `files` of an <input type="file">
  return { ...chat, send };
}
// #endregion files
assert.equal(typeof usePhotos, "function");

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
const listShown = async (id: string): Promise<object> => {
  const { messages, isOpen } = (await (await load(id)).json()) as Stored;
  return { isOpen, ids: messages.map((message) => message.id) };
};
assert.deepEqual(await listShown("chat"), { isOpen: true, ids: ["u"] });
const approval = { id: "chat/1:call_i0_0", approved: true };
const parts = [{ type: "tool-pay", toolCallId: "chat/1:call_i0_0", state: "approval-responded", approval }];
const waiting = post({ id: "chat", messages: [user, { id: "chat/0", role: "assistant", parts }] });
assert.equal((await answer(waiting)).status, 409); // the message belongs to another run
const second = await (await answer(post({ id: "chat", messages: [user, { id: "chat/1", role: "assistant", parts }] }))).text();
assert.doesNotMatch(second, /I pay/);
assert.match(second, /"delta":"Paid\."/);
assert.match(await (await reload("chat")).text(), /"delta":"I pay\."[^]*"delta":"Paid\."/);
assert.deepEqual(await listShown("chat"), { isOpen: false, ids: ["u", "chat/1"] });
assert.deepEqual(await listShown("unknown"), { isOpen: false, ids: [] });
assert.equal((await reload("unknown")).status, 204);
assert.equal(stopRun("chat").status, 409); // its run has ended
const live = await answer(post({ id: "live", messages: [user] }));
assert.equal(stopRun("live").status, 202);
assert.match(await live.text(), /"type":"abort"/);
await host.close();
assert.deepEqual(payments, [20]);

// #region failures
/** Returns the sentence that the page shows. Pass it as an option: `{ version: 7, onError }`. */
function onError(failure: PageFailure): string {
  if (failure.kind === "tool") return "This step did not work."; // also if the user denied it: see `failure.outcome`
  if (failure.kind === "thrown") console.error(failure.error); // the events ended before the run did
  const isBusy = failure.kind === "run" && failure.reason.kind === "provider-error" && failure.reason.error.retryable;
  return isBusy ? "The model is busy. Try again in a moment." : "Something went wrong on our side.";
}
// #endregion failures
for (const [status, sentence] of [
  [503, "The model is busy. Try again in a moment."],
  [401, "Something went wrong on our side."],
] as const) {
  const stream = streamToolLoop({
    provider: createMockProvider([fail({ status })]),
    messages: [{ role: "user", content: "Hello." }],
  });
  const shown = await toUIMessageStreamResponse(stream, { version: 7, onError }).text();
  assert.ok(shown.includes(`"errorText":"${sentence}"`), shown);
}

{
  // A photo of 2.5 MB, twice in the chat.
  const url = `data:image/jpeg;base64,/9j/${"A".repeat(3_400_000)}`;
  const file = { type: "file" as const, mediaType: "image/jpeg", url };
  const messages = ["a", "b"].map((id) => ({ id, role: "user" as const, parts: [file] }));
  const send = globalThis.fetch;
  const bodies: string[] = [];
  globalThis.fetch = async (url, init) => {
    bodies.push(await new Request(new URL(url as string, "http://localhost"), init).text());
    return new Response("data: [DONE]\n\n");
  };
  await transport.sendMessages({
    chatId: "p",
    messages,
    trigger: "submit-message",
    messageId: undefined,
    abortSignal: undefined,
  });
  globalThis.fetch = send;
  const body: object = JSON.parse(bodies[0] ?? "");
  assert.equal((await readUIChatRequest(post(body), { maxBytes: 10_000_000 })).message?.id, "b");
  await assert.rejects(readUIChatRequest(post(body)), { status: 413 });
}

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
      res.writeHead(error.status).end(error.message); // 400, 403, 408, 413 or 415
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
