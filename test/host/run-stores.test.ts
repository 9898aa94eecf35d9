import { approve } from "turnwright";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import {
  type ConversationStore,
  fileConversationStore,
  memoryConversationStore,
  postgresConversationStore,
} from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { programLoader } from "../../scripts/program-loader.ts";
import { type Database, startDatabase } from "../conversation/stage.ts";
import { createStage, playing, readAll, readStart, textOf, tool, watchAppend } from "./stage.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "run-store-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

let database: Database;
beforeAll(async () => {
  database = await startDatabase();
}, 60_000);
afterAll(() => database.stop());

describe.for<[string, () => ConversationStore]>([
  ["memoryConversationStore", () => memoryConversationStore()],
  ["fileConversationStore", () => fileConversationStore(join(folder, "runs", "deep"))],
  ["postgresConversationStore", () => postgresConversationStore(database.connect())],
])("%s", ([, create]) => {
  it("keeps a separate journal for each run", async () => {
    const store = create();
    const lock = await store.lock("a");
    const record = async (runId: string, said: string): Promise<unknown> => {
      const journal = store.journal?.(runId);
      const close = await journal?.open?.();
      const recorded = await journal?.step("run", () => ({ said }));
      await close?.();
      return recorded;
    };
    for (const runId of ["a/1", "a/2"]) expect(await record(runId, runId)).toEqual({ said: runId });
    expect(await record("a/1", "again")).toEqual({ said: "a/1" });
    for (let count = 0; count < 2; count += 1) await store.removeJournal?.("a/1");
    expect([await record("a/1", "new"), await record("a/2", "new")]).toEqual([{ said: "new" }, { said: "a/2" }]);
    await lock.release();
  });

  it("stores a run host's conversation", async () => {
    const { host, clock, id } = createStage({ store: create() });
    const middleware = [approve(() => ({ kind: "ask" as const }))];
    const save = tool("save", () => "saved");
    const script = [toolCall("save"), text("Done.")];
    const provider = createMockProvider(({ iteration }) => script[iteration]);
    await readStart(host.start(id, { provider, clock, tools: [save], middleware, message: "Save." }));
    await host.resume(id, { provider, clock, tools: [save], middleware, answers: { call_i0_0: { kind: "approve" } } });
    expect(textOf(await readAll(host.join(id)))).toBe("Done.");
    const next = playing([text("Two.")], clock);
    await readStart(host.start(id, { ...next, message: "Go on." }));
    expect(next.provider.requests[0]?.messages.map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "tool",
      "assistant",
      "user",
    ]);
    await host.close();
    expect(clock.pending).toBe(0);
  });
});

describe("memoryConversationStore", () => {
  it("removes a conversation's journals when maxConversations is exceeded", async () => {
    const store = memoryConversationStore({ maxConversations: 1 });
    const { host, clock } = createStage({ store });
    for (const id of ["evicted", "kept"]) await readStart(host.start(id, { ...playing([text("Hi.")], clock), message: "Go." }));
    expect([store.journal?.("evicted/1").read("run"), store.journal?.("kept/1").read("run")]).toEqual([
      undefined,
      expect.objectContaining({ runId: "kept/1" }),
    ]);
  });
});

describe("fileConversationStore", () => {
  it("writes files that are named by a hash and readable only by their owner", async () => {
    const { host, clock } = createStage({ store: fileConversationStore(folder) });
    const ids = ["a", "A", "con", "__proto__", "x".repeat(200)];
    for (const id of ids) await readStart(host.start(id, { ...playing([text("Hi.")], clock), message: "Go." }));
    await host.close();
    const names = readdirSync(folder);
    expect(names.filter((name) => !/^(run-)?[0-9a-f]{40}\.jsonl$/.test(name))).toEqual([]);
    expect(names).toHaveLength(2 * ids.length);
    if (process.platform !== "win32") for (const name of names) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
  });

  it.for(["", ".", "a/b", "a\u0000", "x".repeat(201)])("makes a host refuse the id %j", async (id) => {
    const { host, clock } = createStage({ store: fileConversationStore(folder) });
    const started = host.start(id, { ...playing([text("Hi.")], clock), message: "Go." });
    await expect(started).rejects.toMatchObject({ code: "invalid-option" });
  });

  it(`lets host.resume() return "busy" until the run's process is killed`, async () => {
    const child = spawn(process.execPath, ["--import", programLoader(), "-e", childProgram(folder)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await new Promise<void>((ready) => child.stdout.once("data", () => ready()));
      const { host, clock } = createStage({ store: fileConversationStore(folder) });
      const ran: string[] = [];
      const save = tool("save", (_, { callId }) => ran.push(callId));
      const script = [[text("One moment."), toolCall("save")], text("Done.")];
      const provider = createMockProvider(({ iteration }) => script[iteration]);
      const given = { provider, clock, tools: [save] };
      expect(await host.start("shared", { ...given, message: "Me too." })).toMatchObject({ kind: "busy" });
      expect(await host.resume("shared", given)).toMatchObject({ kind: "busy", runId: "shared/1" });
      expect(await host.status("shared")).toMatchObject({ status: "running", isLive: false });
      const killed = new Promise((gone) => child.once("exit", gone));
      child.kill("SIGKILL");
      await killed;
      expect(await host.resume("shared", given)).toMatchObject({ kind: "started", runId: "shared/1" });
      expect(textOf(await readAll(host.join("shared")))).toBe("One moment.Done.");
      expect(ran).toEqual([]);
      expect((await host.status("shared"))?.messages[2]).toMatchObject({ results: [{ result: "saved before" }] });
      await host.close();
    } finally {
      child.kill("SIGKILL");
    }
  }, 30_000);

  it("lets another host start the next run, even if the last run's end was not stored", async () => {
    const store = fileConversationStore(folder);
    const broken = watchAppend(store, (status) => {
      if (status !== "running") throw new Error("The disk is full.");
    });
    const { host, clock, id } = createStage({ store: broken });
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
    const second = createRunHost({ store, clock });
    const next = playing([text("Two.")], clock);
    await readStart(second.start(id, { ...next, message: "Go on." }));
    expect(next.provider.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(JSON.stringify(await store.load(id))).toContain("Two.");
    await Promise.all([host.close(), second.close()]);
  });
});

function childProgram(path: string): string {
  const from = (file: string): string => JSON.stringify(pathToFileURL(resolve(file)).href);
  return `
    import(${from("src/host/index.ts")}).then(async ({ createRunHost }) => {
      const { fileConversationStore } = await import(${from("src/conversation/index.ts")});
      const { createMockProvider, stall, text, toolCall } = await import(${from("src/testing/index.ts")});
      const script = [[text("One moment."), toolCall("save")], stall()];
      const host = createRunHost({ store: fileConversationStore(${JSON.stringify(path)}) });
      const save = { name: "save", description: "save", inputSchema: { type: "object" }, execute: () => "saved before" };
      await host.start("shared", { provider: createMockProvider(script), tools: [save], message: "Save." });
      for await (const { event } of host.join("shared")) if (event.type === "iteration-start" && event.iteration === 1) console.log("ready");
    });
    setInterval(() => {}, 1000);
  `;
}
