// A chat over the AG-UI protocol: the endpoints of the server, and the code of the page.

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { HttpAgent } from "@ag-ui/client";
import { defineTool, isLoopError } from "turnwright";
import { isRequestError, pipeAGUIStream, readAGUIRequest, toAGUIResponse, toAGUIThread } from "turnwright/ag-ui";
import { createRunHost, type HostedRun, lastEventId } from "turnwright/host";
import { createMockProvider, text, toolCall } from "turnwright/testing";
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

// #region endpoints
const host = createRunHost();

/** POST /api/chat */
async function post(request: Request): Promise<Response> {
  const { threadId, runId, message, continues, answers } = await readAGUIRequest(request); // check here that the user may use this thread
  const after = lastEventId(request);
  // After a broken connection, the page repeats its request, with the id of the last event that it received.
  if (after !== undefined) return toAGUIResponse(host.join(threadId), { threadId, runId, after });
  if (message !== undefined) {
    const answer = await host.start(threadId, { provider, tools, message });
    if (answer.kind !== "started") return refuse();
    logFailure(answer);
    return toAGUIResponse(answer.join(), { threadId, runId });
  }
  // A tab may still show an earlier run. A decision about that run is refused.
  if ((await host.status(threadId))?.runId !== continues) return refuse();
  const answer = await host.resume(threadId, { provider, tools, answers });
  if (answer.kind !== "started") return refuse();
  logFailure(answer);
  return toAGUIResponse(answer.join(), { threadId, runId, from: "live" });
}

/** The page only shows that a run failed. */
function logFailure({ result }: HostedRun): void {
  void result.then(({ error }) => error !== undefined && console.error(error), console.error);
}

const refuse = () => new Response("Nothing waits here, or the last answer is not finished.", { status: 409 });

/** GET /api/chat. TanStack AI sends this request to load a thread, or to follow a live run. */
async function get(request: Request): Promise<Response> {
  const { searchParams } = new URL(request.url);
  const runId = searchParams.get("runId");
  if (runId === null) return Response.json(toAGUIThread(await host.status(searchParams.get("threadId") ?? "")));
  const threadId = runId.slice(0, runId.lastIndexOf("/")); // check here, too, that the user may use this thread
  return toAGUIResponse(host.join(threadId), { version: "0.0", threadId, runId, after: lastEventId(request) });
}

/** The request is invalid, or its decision is about a call that does not wait for a decision. */
function toErrorResponse(error: unknown): Response {
  if (isRequestError(error)) return new Response(error.message, { status: error.status }); // 400, 403, 408, 413 or 415
  if (isLoopError(error, "unknown-decision")) return refuse();
  throw error;
}
// #endregion endpoints

const fetchLocal = (_: unknown, init?: RequestInit) =>
  post(new Request("http://localhost/api/chat", init)).catch(toErrorResponse);

{
  const { fetch } = globalThis;
  globalThis.fetch = fetchLocal;
  // #region page
  const agent = new HttpAgent({ url: "http://localhost:3000/api/chat", threadId: "chat" });
  agent.addMessage({ id: "1", role: "user", content: "Pay the bill." });
  await agent.runAgent();
  // The run is suspended. Each pending interrupt stands for a call that waits for a person's decision.
  const resume = agent.pendingInterrupts.map(({ id }) => {
    return { interruptId: id, status: "resolved" as const, payload: { approved: true, args: { amount: 10 } } };
  });
  await agent.runAgent({ resume });
  // #endregion page
  globalThis.fetch = fetch;
  assert.deepEqual(payments, [10]);
  assert.equal(agent.messages.at(-1)?.content, "Paid.");
  const loaded = await (await get(new Request("http://localhost/api/chat?threadId=chat"))).text();
  assert.match(loaded, /"content":"Paid\."/);
  assert.equal((await get(new Request("http://localhost/api/chat?runId=other/1"))).status, 204);
  assert.equal((await fetchLocal("", { method: "POST", body: "{}" })).status, 415);
}

{
  async function handle(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const { threadId, runId, message } = await readAGUIRequest(req, { maxBytes: 200_000, allowedMediaTypes: ["image/*"] });
    const answer = message === undefined ? undefined : await host.start(threadId, { provider, message });
    if (answer?.kind === "started") return pipeAGUIStream(answer.join(), res, { threadId, runId, keepAliveMs: 10_000 });
    res.writeHead(409).end();
  }
  const server = createServer((req, res) => void handle(req, res));
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const agent = new HttpAgent({ url, threadId: "piped" });
  agent.addMessage({ id: "1", role: "user", content: "Hi." });
  await agent.runAgent();
  assert.match(JSON.stringify(agent.messages), /I pay\./);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}
await host.close();
