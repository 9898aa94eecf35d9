import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { defineTool } from "turnwright";
import { defineDurableHost, defineDurableLoop, launchWorker } from "turnwright/dbos";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";
import { useWorker } from "./use-database.ts";

const database = useWorker();
let maxIterations = 5;

const keys: string[] = [];
const note = defineTool({
  name: "note",
  description: "Notes the idempotency key",
  inputSchema: { type: "object" },
  execute: (_args, { idempotencyKey }) => void keys.push(idempotencyKey),
});
const park = defineTool({
  name: "park",
  description: "A person parks the car",
  inputSchema: { type: "object" },
  outputSchema: z.object({ place: z.string() }),
});

const desk = defineDurableHost({
  name: "repaired desk",
  options: () => ({
    version: `v${maxIterations}`,
    limits: { maxIterations },
    provider: createMockProvider(({ messages }) => {
      const last = messages.at(-1);
      if (last?.role !== "user") return text("Done.");
      const said = messages.flatMap((message) =>
        message.role === "user" && typeof message.content === "string" ? [message.content] : [],
      );
      if (said.at(-1) === "Note.") return toolCall("note", {});
      if (said.at(-1) === "Park both.") return [toolCall("park", {}), toolCall("park", {})];
      return said.at(-1) === "Park." ? toolCall("park", {}) : text(said.join(" "));
    }),
    tools: [note, park],
  }),
});
const typed = defineDurableLoop({
  name: "typed",
  options: ({ question }: Ticket) => ({
    provider: createMockProvider(() => text(question)),
    messages: [{ role: "user" as const, content: question }],
  }),
});

/** An interface must be accepted as input, although it has no index signature. */
interface Ticket {
  readonly question: string;
}

async function askDesk(id: string, message: string): Promise<{ readonly text: string; readonly runId: string | undefined }> {
  const answer = await desk.start(id, { message });
  if (answer.kind !== "started") throw new Error(`The start was answered with ${answer.kind}.`);
  return answer.result();
}

describe("a durable conversation whose run failed before its first record", () => {
  it("continues with the user's message after a retry", async () => {
    maxIterations = -1;
    await expect(askDesk("s", "First.")).rejects.toThrow('"limits.maxIterations"');
    expect(await desk.status("s")).toMatchObject({
      status: "error",
      error: expect.stringContaining('"limits.maxIterations"'),
      messages: [{ content: "First." }],
    });
    await expect(askDesk("s", "Second.")).rejects.toThrow('"limits.maxIterations"');
    maxIterations = 5;
    const retried = await desk.retry("s");
    if (retried.kind !== "started") throw new Error("The run was not retried.");
    expect((await retried.result()).text).toBe("First. Second.");
    expect((await askDesk("s", "Third.")).text).toBe("First. Second. Third.");
    expect(await desk.retry("s")).toEqual({ kind: "not-resumable", status: "completed" });
    expect(await desk.status("s")).toMatchObject({ runId: "s/3", status: "completed", version: "v5" });
  });
});

describe("a durable conversation whose runs were deleted", () => {
  it("begins a new history with the next run number", async () => {
    await askDesk("d", "Note.");
    expect(await database.worker.deleteRuns({ ids: ["d/1", "nobody"] })).toBe(1);
    expect([await desk.status("d"), await desk.join("d")]).toEqual([undefined, undefined]);
    expect((await askDesk("d", "Note.")).runId).toBe("d/2");
    expect(keys).toEqual(["d/1/i0/call/0/note", "d/2/i0/call/0/note"]);
    await expect(database.worker.deleteRuns({ ids: [], endedBefore: new Date() } as never)).rejects.toThrow("exactly one of");
  });
});

describe("a durable conversation with a waiting run", () => {
  it("rejects a result that does not match the outputSchema", async () => {
    await desk.start("w", { message: "Park." });
    for await (const { event } of (await desk.join("w")) ?? []) void event;
    const wrong = desk.resume("w", { answers: { call_i0_0: { kind: "result", result: { spot: 1 } } } });
    await expect(wrong).rejects.toMatchObject({ code: "invalid-decision", details: { call: "call_i0_0", waitsFor: "result" } });
    await expect(desk.resume("w", { answers: { call_i0_0: { kind: "approve" } } })).rejects.toThrow('is "approve"');
    const right = await desk.resume("w", { answers: { call_i0_0: { kind: "result", result: { place: "7" } } } });
    expect(right.kind === "started" && (await right.result()).status).toBe("completed");
  });

  it("still waits if only one of two calls has a result", async () => {
    const results = (...callIds: readonly string[]) =>
      Object.fromEntries(callIds.map((id) => [id, { kind: "result" as const, result: { place: id } }]));
    for (const id of ["both", "first"]) {
      await desk.start(id, { message: "Park both." });
      for await (const { event } of (await desk.join(id)) ?? []) void event;
      const resumed = await desk.resume(id, { answers: results("call_i0_1") });
      if (resumed.kind !== "started") throw new Error("The run was not resumed.");
      const types: string[] = [];
      for await (const { event } of resumed.join()) types.push(event.type);
      expect([types.at(-1), (await desk.status(id))?.status]).toEqual(["run-end", "suspended"]);
    }
    expect((await desk.start("first", { message: "Next.", whenSuspended: "deny" })).kind).toBe("started");
    const last = await desk.resume("both", { answers: results("call_i0_0") });
    const ended = last.kind === "started" ? await last.result() : undefined;
    expect(ended?.messages.find(({ role }) => role === "tool")).toMatchObject({
      results: [{ result: { place: "call_i0_0" } }, { result: { place: "call_i0_1" } }],
    });
  });

  it("keeps a stream open with `endsWhenWaiting: false`", async () => {
    await desk.start("k", { message: "Park." });
    const types: string[] = [];
    const stream = await desk.join("k", { endsWhenWaiting: false });
    const read = (async () => {
      for await (const { event } of stream ?? []) types.push(event.type);
    })();
    while ((await desk.status("k"))?.status !== "suspended") await new Promise((resolve) => setTimeout(resolve, 10));
    expect(await desk.kill("k")).toBe("accepted");
    await read;
    expect(types.filter((type) => type === "run-end")).toHaveLength(1);
    expect([(await desk.status("k"))?.status, await desk.kill("k")]).toEqual(["stopped-by-user", "not-running"]);
  });
});

describe("a durable loop", () => {
  it("rejects inputs that JSON would change", async () => {
    for (const input of [() => 1, { question: () => "?" }, { question: Number.NaN }, new Date(0), [1n]]) {
      await expect(typed.start("bad", input as never)).rejects.toMatchObject({ details: { option: "input" } });
    }
    await typed.start("good", { question: "Fine?" });
    expect((await typed.result("good")).text).toBe("Fine?");
    const late = () =>
      defineDurableLoop({ name: "late", options: () => ({ provider: createMockProvider(() => text("")), messages: [] }) });
    expect(late).toThrow('Define the durable loop "late" before you call launchWorker().');
  });

  it("is invisible to an application with a different name in the same database", async () => {
    await database.relaunch({ name: "billing" });
    expect(await typed.status("good")).toBeUndefined();
    expect(await database.worker.listRuns()).toEqual([]);
    await typed.start("bill", { question: "Paid?" });
    expect((await typed.result("bill")).text).toBe("Paid?");
    await database.relaunch();
    expect((await database.worker.listRuns({ loop: "typed" })).map(({ id }) => id)).toEqual(["good"]);
  }, 30_000);
});

describe("launchWorker", () => {
  it("names the `databaseUrl` option, but not the password in the URL, if the database cannot be reached", async () => {
    await database.worker.stop();
    const launched = launchWorker({ databaseUrl: "postgresql://kim:secret@127.0.0.1:1/app" });
    const error: unknown = await launched.catch((reason: unknown) => reason);
    expect(String(error)).toMatch(
      /^Error: The Postgres server at "databaseUrl" cannot be reached. Check the URL and the server: /,
    );
    expect(String(error)).not.toContain("secret");
    await database.launch();
  }, 30_000);

  it("rejects if the database delivers no notifications, as behind PgBouncer in transaction mode", async () => {
    await database.worker.stop();
    const { url, close } = await dropNotifications(database.url);
    await expect(launchWorker({ databaseUrl: url, answerMs: 1_000 })).rejects.toThrow(
      'The Postgres server at "databaseUrl" delivers no notifications.',
    );
    close();
    await database.launch();
  }, 30_000);
});

/** Forwards connections to Postgres, but drops its notifications. */
async function dropNotifications(databaseUrl: string): Promise<{ readonly url: string; close(): void }> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  const proxy = createServer((client) => {
    const server = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      sockets.add(one);
      one.on("error", () => other.destroy()).on("close", () => other.destroy());
    }
    client.pipe(server);
    let left = Buffer.alloc(0);
    server.on("data", (chunk) => {
      left = Buffer.concat([left, chunk]);
      // A message begins with its type and its length, which does not include the type.
      while (left.length >= 5 && left.length > left.readInt32BE(1)) {
        const length = 1 + left.readInt32BE(1);
        if (String.fromCharCode(left.readUInt8(0)) !== "A") client.write(left.subarray(0, length));
        left = left.subarray(length);
      }
    });
  });
  await new Promise<void>((resolve) => void proxy.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  url.port = String((proxy.address() as AddressInfo).port);
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  };
  return { url: url.href, close };
}
