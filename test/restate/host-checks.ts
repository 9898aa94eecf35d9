// The checks of a durable host in one worker.

import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { HostedEvent } from "turnwright/host";
import { defineDurableHost, type DurableHost, launchWorker, type Worker } from "turnwright/restate";
import { checkKeepRuns, checkRemoval } from "../dbos/check-removal.ts";
import { RELEASE, shopFields } from "../dbos/shop.ts";
import type { Check } from "./checks.ts";
import { findFreePort, type RestateServer, startRestate } from "./start-restate.ts";

let server: RestateServer;
let worker: Worker;
let shop: DurableHost;
let keeping: DurableHost;

export async function begin(): Promise<void> {
  shop = defineDurableHost(shopFields);
  keeping = defineDurableHost({ ...shopFields, name: "keeping", keepRuns: 2 });
  server = await startRestate();
  worker = await launchWorker({ ingressUrl: server.ingressUrl, adminUrl: server.adminUrl, port: await findFreePort() });
}

export async function end(): Promise<void> {
  await worker.stop();
  await server.stop();
}

async function readAll(stream: AsyncIterable<HostedEvent> | undefined): Promise<readonly HostedEvent[]> {
  const all: HostedEvent[] = [];
  for await (const item of stream ?? []) all.push(item);
  return all;
}

async function checkConversation(): Promise<void> {
  const first = await shop.start("chat-1", { message: "Hold.", input: 7 });
  equal(first.kind, "started");
  equal((await shop.start("chat-1", { message: "Now!" })).kind, "busy");
  const queuing = shop.start("chat-1", { message: "And now?", whenBusy: "queue" });
  process.kill(process.pid, RELEASE);
  const queued = await queuing;
  ok(queued.kind === "started");
  const { text, messages } = await queued.result();
  match(text, /^Message 2 for null/);
  equal(messages.length, 4);
  const { runId, status, isLive } = (await shop.status("chat-1")) ?? {};
  deepEqual([runId, status, isLive], ["chat-1/2", "completed", false]);
}

async function checkApproval(): Promise<void> {
  await shop.start("chat-2", { message: "Order." });
  const shown = await readAll(await shop.join("chat-2"));
  deepEqual(
    shown.slice(-2).map(({ event }) => event.type),
    ["approval-asked", "run-end"],
  );
  const { status, reason } = (await shop.status("chat-2")) ?? {};
  ok(status === "suspended" && reason !== undefined && "calls" in reason);
  const approved = { [reason.calls[0]?.id ?? ""]: { kind: "approve" } } as const;
  // If one decision does not fit, none is sent.
  await rejects(shop.resume("chat-2", { answers: { ...approved, nobody: { kind: "approve" } } }), { code: "unknown-decision" });
  equal((await shop.status("chat-2"))?.status, "suspended");
  const resumed = await shop.resume("chat-2", { answers: approved });
  ok(resumed.kind === "started");
  const rest = await readAll(resumed.join());
  const fresh = rest.filter(({ event }) => event.replayed !== true).map(({ event }) => event.type);
  ok(fresh.includes("tool-end") && !fresh.includes("approval-asked"), String(fresh));
  deepEqual(
    rest.map(({ id }) => id),
    rest.map((_, index) => `1-${index}`),
  );
  equal((await shop.join("chat-2", { from: rest.at(-1)?.id }))?.isOver, true);
}

async function checkReplacedRun(): Promise<void> {
  await shop.start("chat-3", { message: "Order." });
  await readAll(await shop.join("chat-3"));
  const next = await shop.start("chat-3", { message: "Never mind.", whenSuspended: "deny" });
  ok(next.kind === "started");
  equal((await next.result()).status, "completed");
  equal((await shop.status("chat-3"))?.runId, "chat-3/2");
  equal(await shop.stop("chat-3"), "not-running");
}

async function checkRemovals(): Promise<void> {
  await checkRemoval(shop);
  // The workflow of a failed run waits for a retry until it is killed.
  const query = "SELECT status FROM sys_invocation WHERE target_service_key = 'broken/1' AND target_handler_name = 'run'";
  const response = await fetch(`${server.adminUrl}/query`, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/json" },
    body: JSON.stringify({ query }),
  });
  const { rows } = (await response.json()) as { readonly rows: readonly { readonly status: string }[] };
  ok(
    rows.every(({ status }) => status === "completed"),
    JSON.stringify(rows),
  );
}

export const checks: readonly Check[] = [
  { title: 'returns "busy" or queues a start during a run', run: checkConversation },
  { title: "streams the rest of the run in the response to an approval", run: checkApproval },
  { title: "removes a conversation with all its runs", run: checkRemovals },
  { title: "removes old runs with keepRuns", run: () => checkKeepRuns(keeping) },
  { title: "stops a waiting run when a new message is sent with whenSuspended: deny", run: checkReplacedRun },
];
