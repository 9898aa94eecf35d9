// Conversations that several pages can follow at the same time: the endpoints of the server, and the events for the pages.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defer, defineTool } from "turnwright";
import { fileConversationStore } from "turnwright/conversation";
import {
  createRunHost,
  lastEventId,
  type ResumeAnswer,
  type RunHost,
  type StartAnswer,
  toEventStreamResponse,
} from "turnwright/host";
import { readRunLog, runLog } from "turnwright/inspect";
import { tracing } from "turnwright/observe";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const tools = [
  defineTool({
    name: "pay",
    description: "Pays an amount",
    inputSchema: { type: "object", properties: { amount: { type: "number" } } },
    needsApproval: true,
    execute: () => "Paid.",
  }),
];
const turns = [[text("I pay. "), toolCall("pay", { amount: 20 })], text("Paid.")];
const provider = createMockProvider(({ messages }) => turns[messages.filter(({ role }) => role === "assistant").length]);
const director = createMockProvider(({ messages }) =>
  messages.some(({ role }) => role === "tool") ? text("Your film is ready.") : toolCall("render", { film: "holiday" }),
);
const jobs: object[] = [];
const renderFarm = { start: async (job: object): Promise<void> => void jobs.push(job) };
const folder = mkdtempSync(join(tmpdir(), "runs-"));
const home = process.cwd();
process.chdir(folder);

// #region endpoints
const host = createRunHost({ store: fileConversationStore("chats") }); // a folder

/** POST /chats/:id */
async function post(id: string, request: Request): Promise<Response> {
  const { message, answers } = await request.json(); // check here that the user may use this chat
  const run = { provider, tools };
  const answer = answers === undefined ? await host.start(id, { ...run, message }) : await host.resume(id, { ...run, answers });
  if (answer.kind !== "started") return new Response(answer.kind, { status: 409 });
  return toEventStreamResponse(answer.join({ from: lastEventId(request) }));
}

/** GET /chats/:id. An EventSource sends this request when a page is reloaded or opened in a second tab. */
function get(id: string, request: Request): Response {
  return toEventStreamResponse(host.join(id, { from: lastEventId(request) }));
}

/** DELETE /chats/:id/run. The stop button of any tab sends this request. */
function stop(id: string): Response {
  return Response.json({ stopped: host.stop(id, { requester: "user" }) === "accepted" });
}
// #endregion endpoints

// #region refuse
function refuse({ kind }: Exclude<StartAnswer | ResumeAnswer, { readonly kind: "started" }>): Response {
  if (kind === "closed") return new Response("The server restarts. Try again.", { status: 503 });
  const reasons = { busy: "The last answer is not finished.", waiting: "A call waits for your decision." };
  return new Response(kind === "busy" || kind === "waiting" ? reasons[kind] : "Load the chat again.", { status: 409 });
}
// #endregion refuse

const say = (body: object, headers: HeadersInit = {}): Request =>
  new Request("http://localhost/chats/7", { method: "POST", headers, body: JSON.stringify(body) });
const idsOf = (body: string): readonly string[] => [...body.matchAll(/^id: (.+)$/gm)].map(([, id = ""]) => id);

const first = await (await post("7", say({ message: "Pay 20." }))).text();
assert.match(first, /event: run-end\ndata: .*"approval-required"/);
const last = idsOf(first).at(-1) ?? "";
assert.equal(get("7", new Request("http://localhost/chats/7", { headers: { "last-event-id": last } })).status, 204);

const forged = await post("7", say({ answers: { call_9: { kind: "approve" } } })).catch((error: unknown) => error);
assert.match(String(forged), /"call_9"/);

const rest = await (await post("7", say({ answers: { call_i0_0: { kind: "approve" } } }, { "last-event-id": last }))).text();
assert.match(rest, /Paid\./);
assert.doesNotMatch(rest, /I pay/);

const reloaded = await get("7", new Request("http://localhost/chats/7")).text();
assert.deepEqual(idsOf(reloaded), [...idsOf(first), ...idsOf(rest)]);
assert.deepEqual(await stop("7").json(), { stopped: false });
assert.equal((await post("7", say({ answers: {} }))).status, 409);
assert.equal(await refuse({ kind: "closed" }).text(), "The server restarts. Try again.");

// #region render
const render = defineTool({
  name: "render",
  description: "Renders a film. This takes hours.",
  inputSchema: z.object({ film: z.string() }),
  async execute({ film }, { callId, context, idempotencyKey }) {
    // The render farm later sends `reply` back, together with the finished film. `chat` is the run's option `context`.
    await renderFarm.start({ film, key: idempotencyKey, reply: { chat: context, callId } });
    return defer();
  },
});
const start = (chat: string, message: string) =>
  host.start(chat, { provider: director, tools: [render], context: chat, message });

/** POST /films. The render farm sends this request when a film is ready. */
async function onFilm({ chat, callId, url }: { chat: string; callId: string; url: string }): Promise<Response> {
  const answers = { [callId]: { kind: "result" as const, result: { url } } };
  const options = { provider: director, tools: [render], context: chat, answers, whenBusy: "queue" as const };
  const { kind } = await host.resume(chat, options);
  if (kind === "busy" || kind === "closed") return new Response("Try again.", { status: 503 });
  return new Response(null, { status: kind === "started" ? 202 : 410 });
}
// #endregion render
const started = await start("8", "Render my film.");
assert.equal((await onFilm({ chat: "8", callId: "call_i0_0", url: "/films/8" })).status, 202);
assert.equal(started.kind, "started");
for await (const { event } of host.join("8") ?? []) assert.notEqual(event.type, "listener-error");
assert.deepEqual(jobs, [{ film: "holiday", key: "8/1/i0/call/0/render", reply: { chat: "8", callId: "call_i0_0" } }]);
assert.equal((await onFilm({ chat: "8", callId: "call_i0_0", url: "/films/8" })).status, 410);
assert.equal((await host.status("8"))?.status, "completed");

const path = join(folder, "runs.jsonl");
const watched = createRunHost({
  wrapOptions: (options) => ({
    ...options,
    middleware: [...(options.middleware ?? []), runLog({ to: path }), tracing({ agentName: "support" })],
  }),
});
const logged = await watched.start("9", { provider: createMockProvider([text("Hi.")]), message: "Hello." });
assert.equal(logged.kind === "started" && (await logged.result).text, "Hi.");
assert.equal((await readRunLog(path)).runs[0]?.runId, "9/1");

async function shutDown(hosts: readonly RunHost[]): Promise<void> {
  await Promise.all(hosts.map((one) => one.close()));
}
await shutDown([host, watched]);
process.chdir(home);
rmSync(folder, { recursive: true, force: true });
