import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launchWorker, type Worker } from "turnwright/dbos";
import { type HostedEvent, lastEventId, pipeEventStream } from "turnwright/host";
import { pipeUIMessageStream, readUIChatRequest } from "turnwright/ui-message-stream";
import { programLoader } from "../../scripts/program-loader.ts";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";
import { checkKeepRuns, checkRemoval } from "./check-removal.ts";
import { defineKeeping, defineShop, RELEASE } from "./shop.ts";

const shop = defineShop();
const keeping = defineKeeping();
let postgres: Postgres;
/** The worker of this process serves the pages, and executes no runs. */
let client: Worker;
let other: ChildProcess;
let server: Server;
let url: string;

beforeAll(async () => {
  postgres = await startPostgres();
  client = await launchWorker({ databaseUrl: postgres.url, runsLoops: false });
  const script = fileURLToPath(new URL("shop-process.ts", import.meta.url));
  const args = ["--no-deprecation", "--import", programLoader(), script, postgres.url];
  other = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  if (other.stdout !== null) await once(other.stdout, "data");
  server = createServer((request, response) => {
    const id = decodeURIComponent((request.url ?? "").slice(1).replace(/\?.*/, ""));
    const answer = async (): Promise<void> => {
      if (request.method === "GET") {
        return pipeEventStream(await shop.join(id, { from: lastEventId(request) }), response);
      }
      const { message = "", answers } = await readUIChatRequest(request);
      const given = message === "" ? await shop.resume(id, { answers }) : await shop.start(id, { message, input: 7 });
      if (given.kind !== "started") return void response.writeHead(409).end();
      await pipeUIMessageStream(given.join(), response, { version: 7, from: message === "" ? "live" : "start" });
    };
    answer().catch(() => response.writeHead(500).end());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}, 60_000);

afterAll(async () => {
  server.close();
  await client.stop();
  other.kill("SIGKILL");
  await once(other, "exit");
  await postgres.stop();
});

interface Chunk {
  readonly type: string;
  readonly delta?: string;
  readonly approvalId?: string;
  readonly finishReason?: string;
}

async function post(id: string, message: object): Promise<readonly Chunk[]> {
  const body = JSON.stringify({ id, trigger: "submit-message", messages: [message] });
  const response = await fetch(`${url}/${encodeURIComponent(id)}`, {
    method: "POST",
    body,
    headers: { "content-type": "application/json" },
  });
  const lines = (await response.text()).split("\n\n").filter((line) => line.startsWith("data: {"));
  return lines.map((line) => JSON.parse(line.slice("data: ".length)) as Chunk);
}

let ids = 0;
const say = (text: string): object => ({ id: `m${(ids += 1)}`, role: "user", parts: [{ type: "text", text }] });
const textOf = (chunks: readonly Chunk[]): string => chunks.map(({ delta = "" }) => delta).join("");

async function readTypes(stream: AsyncIterable<HostedEvent> | undefined): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const { event } of stream ?? []) types.push(event.type);
  return types;
}

describe("a durable host", () => {
  it("sends a client the events of a run in another process", async () => {
    const chunks = await post("chat-1", say("Hello."));
    expect(textOf(chunks)).toBe(`Message 1 for 7 in ${other.pid}.`);
    expect(chunks.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    const second = await post("chat-1", say("And now?"));
    expect(textOf(second)).toBe(`Message 2 for 7 in ${other.pid}.`);
    expect(await shop.status("chat-1")).toMatchObject({ runId: "chat-1/2", status: "completed", isLive: false });
  });

  it("streams only the rest of the run in the response to an approval", async () => {
    const first = await post("chat-2", say("Order."));
    expect(textOf(first)).toBe("I order.");
    expect(first.at(-1)).toMatchObject({ type: "finish", finishReason: "tool-calls" });
    expect(await shop.status("chat-2")).toMatchObject({
      status: "suspended",
      isLive: true,
      reason: { kind: "approval-required" },
    });
    const approvalId = first.find(({ type }) => type === "tool-approval-request")?.approvalId ?? "";
    const part = { type: "dynamic-tool", state: "approval-responded", approval: { id: approvalId, approved: true } };
    const rest = await post("chat-2", { id: "chat-2/1", role: "assistant", parts: [part] });
    expect(textOf(rest)).toBe(`Message 1 for 7 in ${other.pid}.`);
    expect(rest.map(({ type }) => type)).toContain("tool-output-available");
    expect(rest.at(-1)).toMatchObject({ type: "finish", finishReason: "stop" });
    const again = await shop.resume("chat-2", { answers: {} });
    expect(again).toEqual({ kind: "not-resumable", status: "completed" });
  });

  it("sends an EventSource only the events after the one named in the Last-Event-ID header", async () => {
    await post("chat-3", say("Hello."));
    const all = await (await fetch(`${url}/chat-3`)).text();
    const ids = [...all.matchAll(/^id: (.+)$/gm)].map(([, id = ""]) => id);
    expect(ids[0]).toBe("1-0");
    const rest = await fetch(`${url}/chat-3`, { headers: { "last-event-id": ids.at(-3) ?? "" } });
    expect(await rest.text()).toBe(all.slice(all.indexOf(`id: ${ids.at(-2)}`)));
    const empty = await fetch(`${url}/chat-3`, { headers: { "last-event-id": ids.at(-1) ?? "" } });
    expect([empty.status, (await fetch(`${url}/nobody`)).status]).toEqual([204, 204]);
    const unknown = await fetch(`${url}/chat-3`, { headers: { "last-event-id": "of another server" } });
    expect(await unknown.text()).toBe(`event: reset\ndata: {}\n\n${all}`);
  });

  it("answers an EventSource with 204 while the run is waiting", async () => {
    await shop.start("chat-4", { message: "Order." });
    const types = await readTypes(await shop.join("chat-4"));
    expect(types.slice(-2)).toEqual(["approval-asked", "run-end"]);
    const from = `1-${types.length - 2}`;
    expect((await shop.join("chat-4", { from }))?.isOver).toBe(true);
    await shop.stop("chat-4", { requester: "page" });
    const ended = await readTypes(await shop.join("chat-4", { from }));
    expect(ended.at(-1)).toBe("run-end");
    const answer = await shop.start("chat-4", { message: "Hello." });
    expect(answer.kind).toBe("started");
    const next = await shop.join("chat-4", { from: `1-${types.length - 2 + ended.length}` });
    expect([next?.runId, next?.restarted]).toEqual(["chat-4/2", false]);
  });

  it('returns "busy", steers the run or queues the start if a run is live, depending on whenBusy', async () => {
    const first = await shop.start("chat-5", { message: "Hold." });
    expect(await shop.start("chat-5", { message: "Now!" })).toEqual({ kind: "busy", runId: "chat-5/1" });
    const steered = await shop.start("chat-5", { message: "Also this.", whenBusy: "steer" });
    const queuing = shop.start("chat-5", { message: "Order.", whenBusy: "queue" });
    other.kill(RELEASE);
    const queued = await queuing;
    expect([first.kind, steered.kind, queued.kind]).toEqual(["started", "steered", "started"]);
    expect(queued).toMatchObject({ runId: "chat-5/2" });
    await readTypes(await shop.join("chat-5"));
    const refused = await shop.start("chat-5", { message: "Never mind." });
    expect(refused).toMatchObject({ kind: "waiting", runId: "chat-5/2", calls: [{ name: "order", waitsFor: "approval" }] });
    const third = await shop.start("chat-5", { message: "Never mind.", whenSuspended: "deny" });
    if (third.kind !== "started") throw new Error("The run did not start.");
    const { messages, status } = await third.result();
    expect([status, messages.filter(({ role }) => role === "user").length]).toEqual(["completed", 4]);
    expect((await shop.status("chat-5"))?.runId).toBe("chat-5/3");
  });

  it("starts only one run for several simultaneous starts", async () => {
    const starts = await Promise.all([1, 2, 3].map(() => shop.start("chat-6", { message: "Think." })));
    expect(starts.map(({ kind }) => kind).toSorted()).toEqual(["busy", "busy", "started"]);
    await shop.stop("chat-6");
    expect((await readTypes(await shop.join("chat-6"))).at(-1)).toBe("run-end");
  });

  it("regenerates a conversation's last answer", async () => {
    await shop.start("chat-7", { message: "Hello." });
    await readTypes(await shop.join("chat-7"));
    const again = await shop.start("chat-7", { regenerate: true });
    if (again.kind !== "started") throw new Error("The run did not start.");
    expect((await again.result()).messages).toHaveLength(2);
    const failed = await shop.start("chat-7", { message: "Fail." });
    if (failed.kind !== "started") throw new Error("The run did not start.");
    expect((await failed.result()).status).toBe("error");
    const next = await shop.start("chat-7", { message: "Better?", whenBusy: "queue" });
    if (next.kind !== "started") throw new Error("The run did not start.");
    expect((await next.result()).text).toContain("Message 3");
  });

  it("accepts the result of a deferred call under the call's id", async () => {
    await shop.start("chat-8", { message: "Pack." });
    await readTypes(await shop.join("chat-8"));
    const { reason } = (await shop.status("chat-8")) ?? {};
    const call = reason !== undefined && "calls" in reason ? reason.calls[0] : undefined;
    const answers = { [call?.callId ?? ""]: { kind: "result" as const, result: "packed" } };
    const resumed = await shop.resume("chat-8", { answers });
    if (resumed.kind !== "started") throw new Error("The run did not continue.");
    expect((await resumed.result()).status).toBe("completed");
    const unknown = shop.resume("chat-8", { answers: { nobody: { kind: "approve" } } });
    expect(await unknown).toMatchObject({ kind: "not-resumable" });
  });

  it("rejects invalid options before a run starts", async () => {
    await expect(shop.start("chat-9", {} as never)).rejects.toMatchObject({ code: "invalid-option" });
    await expect(shop.start("chat-9", { message: "Hi.", provider: {} } as never)).rejects.toMatchObject({
      code: "unknown-option",
    });
    await expect(shop.start("chat-9", { messages: [{ role: "tool" }] } as never)).rejects.toMatchObject({
      code: "invalid-messages",
    });
    await expect(shop.start("", { message: "Hi." })).rejects.toMatchObject({ code: "invalid-option" });
    expect([await shop.status("chat-9"), await shop.join("chat-9"), await shop.stop("chat-9")]).toEqual([
      undefined,
      undefined,
      "not-running",
    ]);
  });
});

it("queued starts in one process begin in call order", async () => {
  const said = ["One", "Two", "Three", "Four", "Five"];
  await shop.start("line", { message: "Zero" });
  const starts = said.map((message) => shop.start("line", { message, whenBusy: "queue" }));
  // A start that does not wait overtakes nobody.
  expect((await shop.start("line", { message: "Now!" })).kind).toBe("busy");
  for (const start of starts) expect((await start).kind).toBe("started");
  const last = await starts.at(-1);
  const messages = last?.kind === "started" ? (await last.result()).messages : [];
  expect(messages.flatMap((one) => (one.role === "user" ? [one.content] : []))).toEqual(["Zero", ...said]);
}, 30_000);

it("a durable host removes a conversation with all its runs", () => checkRemoval(shop), 30_000);

it("a durable host with keepRuns removes old runs", () => checkKeepRuns(keeping), 30_000);
