// Durable loops: any worker can execute their runs. Starts a Postgres server.

import assert from "node:assert/strict";
import { DBOS } from "@dbos-inc/dbos-sdk";
import { defineTool, runToolLoop, type UserMessage } from "turnwright";
import { defineDurableHost, defineDurableLoop, launchWorker, runInWorkflow } from "turnwright/dbos";
import { lastEventId, toEventStreamResponse } from "turnwright/host";
import { runLog } from "turnwright/inspect";
import { tracing } from "turnwright/observe";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { startPostgres } from "../workers/start-postgres.ts";

const provider = createMockProvider(({ iteration }) => (iteration === 0 ? toolCall("refund", { order: 7 }) : text("Refunded.")));
const refund = defineTool<{ readonly order: number }>({
  name: "refund",
  description: "Refunds an order",
  inputSchema: { type: "object", properties: { order: { type: "number" } } },
  needsApproval: true,
  execute: ({ order }) => ({ refunded: order }),
});
const tools = [refund];
let printed = "";
const print = (part: string): void => {
  printed += part;
};

// #region define
const support = defineDurableLoop({
  name: "support",
  options: ({ question }: { readonly question: string }) => ({
    provider,
    tools,
    messages: [{ role: "user", content: question } satisfies UserMessage],
  }),
});
// #endregion define

// #region host
const chat = defineDurableHost({
  name: "chat",
  options: ({ id, input }) => ({ provider, tools, context: { chat: id, user: input } }),
});

/** POST /chats/:id */
async function post(id: string, request: Request): Promise<Response> {
  const { message, answers } = await request.json(); // check here that the user may use this chat
  const answer = answers === undefined ? await chat.start(id, { message, input: "Kim" }) : await chat.resume(id, { answers });
  if (answer.kind !== "started") return new Response("Not now.", { status: 409 });
  return toEventStreamResponse(answer.join({ from: lastEventId(request) }));
}

/** GET /chats/:id */
async function get(id: string, request: Request): Promise<Response> {
  return toEventStreamResponse(await chat.join(id, { from: lastEventId(request) }));
}
// #endregion host

const logs: string[] = [];
const sendToCollector = (line: string): void => void logs.push(line);
const sink = { write: sendToCollector }; // one sink for all runs, because they share the texts of the log
const watched = defineDurableHost({
  name: "watched",
  options: () => ({ provider: briefProvider, middleware: [runLog({ to: sink }), tracing({ agentName: "support" })] }),
});

// #region journal
const answer = DBOS.registerWorkflow(
  async (question: string) => {
    const messages = [{ role: "user" as const, content: question }];
    const end = await runInWorkflow((ports) => runToolLoop({ provider: briefProvider, messages, ...ports }));
    return end.text;
  },
  { name: "answer" },
);
// #endregion journal

const briefProvider = createMockProvider(() => text("Yes."));
const postgres = await startPostgres();
process.env["DATABASE_URL"] = postgres.url;

// #region launch
const databaseUrl = process.env["DATABASE_URL"] ?? "postgresql://user:password@localhost:5432/app";
const worker = await launchWorker({ databaseUrl });
// #endregion launch

async function follow(): Promise<void> {
  // #region events
  for await (const { event } of support.events("ticket-7", { from: 0 })) {
    if (event.type === "text-delta") print(event.text);
  }
  // #endregion events
}

async function decideAll(): Promise<void> {
  // #region decide
  const pending = (await support.status("ticket-7"))?.pendingCalls ?? [];
  for (const { id, state } of pending) {
    if (state === "awaiting-approval") await support.decide("ticket-7", id, { kind: "approve" });
  }
  // #endregion decide
}

async function untilAsked(id: string): Promise<void> {
  while ((await support.status(id)) === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
  for await (const { event } of support.events(id)) if (event.type === "approval-asked") break;
  while ((await support.status(id))?.pendingCalls[0]?.state !== "awaiting-approval") {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

const start = async (): Promise<string> => {
  // #region start
  await support.start("ticket-7", { question: "Please refund order 7." });
  const { text: answered } = await support.result("ticket-7"); // in any worker
  // #endregion start
  return answered;
};

const started = start();
await untilAsked("ticket-7");
const followed = follow();
await decideAll();
assert.equal(await started, "Refunded.");
await followed;
assert.equal(printed, "Refunded.");

await support.start("ticket-8", { question: "Please refund order 8." });
await untilAsked("ticket-8");
// #region stop
await support.steer("ticket-8", "Only half of it, please.");
await support.stop("ticket-8", { requester: "Kim" });
// #endregion stop
const stopped = await support.result("ticket-8");
assert.deepEqual([stopped.reason.kind, stopped.undelivered.length], ["stopped", 1]);

assert.equal(await answer("Is it open?"), "Yes.");

const logged = await watched.start("9", { message: "Is it open?" });
assert.equal(logged.kind === "started" && (await logged.result()).text, "Yes.");
assert.ok(logs.some((line) => line.includes('"runId":"9/1"')));

const url = "http://localhost/chats/7";
const ask = new Request(url, { method: "POST", body: JSON.stringify({ message: "Please refund order 9." }) });
assert.match(await (await post("7", ask)).text(), /"status":"suspended"/);
const reason = (await chat.status("7"))?.reason;
const call = reason !== undefined && "calls" in reason ? reason.calls[0]?.id : undefined;
const answers = { [call ?? ""]: { kind: "approve" } };
const approve = new Request(url, { method: "POST", body: JSON.stringify({ answers }) });
assert.match(await (await post("7", approve)).text(), /"text":"Refunded."/);
assert.match(await (await get("7", new Request(url))).text(), /"status":"completed"/);

// #region list
const failed = await worker.listRuns({ state: "failed" });
for (const { id, error } of failed) console.error(id, error);
const old = await worker.listRuns({ state: "live", startedBefore: new Date(Date.now() - 86_400_000) });
// #endregion list
assert.deepEqual([failed, old], [[], []]);

async function retryAll(): Promise<void> {
  // #region retry
  for (const { id, loop } of await worker.listRuns({ state: "failed" })) {
    if (loop === "support") await support.retry(id);
  }
  // #endregion retry
}
await retryAll();

const affected: string[] = [];
// #region needed
for (const { id } of await worker.listRuns({ state: "live", loop: "support" })) {
  const { pendingCalls = [] } = (await support.status(id)) ?? {};
  if (pendingCalls.some(({ name }) => name === "refund")) affected.push(id);
}
// #endregion needed
assert.deepEqual(affected, []);

// #region delete
const monthAgo = new Date(Date.now() - 30 * 86_400_000);
const count = await worker.deleteRuns({ endedBefore: monthAgo });
// #endregion delete
assert.equal(count, 0);

// #region stop-worker
await worker.stop(); // other workers continue its runs; without this call, the process does not end
// #endregion stop-worker
await postgres.stop();
