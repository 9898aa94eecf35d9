import { approve } from "turnwright";
import { spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createRunHost, fileRunStore, memoryRunStore, type RunStore } from "turnwright/host";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { programLoader } from "../../scripts/program-loader.ts";
import { createStage, playing, readAll, readStart, textOf, tool } from "./stage.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "run-store-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const hostile = [
  "__proto__",
  "constructor",
  "../../up",
  "/etc/passwd",
  "a/1",
  "a",
  "A",
  "con",
  "\u0000",
  "\ud800",
  "\ud801",
  "a\udc00",
  "\ufffd",
  ".",
  "x".repeat(5_000),
];

describe.for<[string, () => RunStore]>([
  ["memoryRunStore", () => memoryRunStore()],
  ["fileRunStore", () => fileRunStore(join(folder, "runs", "deep"))],
])("%s", ([, create]) => {
  it("stores conversations separately, whatever their ids contain", async () => {
    const store = create();
    const record = (id: string) => ({
      runs: 1,
      status: "completed" as const,
      messages: [{ role: "user" as const, content: id }],
    });
    for (const id of hostile) expect(await store.read(id)).toBeUndefined();
    for (const id of hostile) await store.write(id, record(id));
    for (const id of hostile) expect(await store.read(id)).toMatchObject(record(id));
  });

  it("keeps a separate journal for each run", async () => {
    const store = create();
    for (const [id, number] of [["a", 1] as const, ["a", 2] as const, ["a/1", 1] as const]) {
      const first = store.journal(id, number);
      const close = await first.open?.();
      const body = () => ({ said: `${id} ${number}` });
      expect(await first.step("run", body)).toEqual({ said: `${id} ${number}` });
      await close?.();
    }
    const again = store.journal("a", 1);
    const close = await again.open?.({ readOnly: true });
    expect(await again.read("run")).toEqual({ said: "a 1" });
    await close?.();
  });

  it("stores the conversation of a run host", async () => {
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

describe("memoryRunStore", () => {
  it("removes the least recently written conversation above maxConversations", async () => {
    const store = memoryRunStore({ maxConversations: 2 });
    const record = { runs: 1, status: "completed" as const, messages: [] };
    for (const id of ["a", "b", "a", "c"]) await store.write(id, record);
    expect([await store.read("a"), await store.read("b"), await store.read("c")]).toEqual([record, undefined, record]);
    expect(() => memoryRunStore({ maxConversations: 0 })).toThrow("maxConversations");
  });
});

describe("fileRunStore", () => {
  it("writes files that are named by a hash and can be read only by their owner", async () => {
    const { host, clock } = createStage({ store: fileRunStore(folder) });
    for (const id of hostile) await readStart(host.start(id, { ...playing([text("Hi.")], clock), message: "Go." }));
    await host.close();
    const names = readdirSync(folder);
    expect(names.filter((name) => !/^[0-9a-f]{40}(\.1\.jsonl|\.json)$/.test(name))).toEqual([]);
    expect(names).toHaveLength(2 * hostile.length);
    if (process.platform !== "win32") for (const name of names) expect(statSync(join(folder, name)).mode & 0o077).toBe(0);
  });

  it.for<[title: string, value: string]>([
    ["no content", ""],
    ["truncated JSON", "{"],
    ["an array", "[]"],
    ["the JSON value null", "null"],
    ["missing fields", '{"version":1}'],
    ["the id of another conversation", '{"version":1,"id":"other","runs":1,"status":"completed","messages":[]}'],
  ])("rejects read() for a file with %s", async ([, content]) => {
    const store = fileRunStore(folder);
    await store.write("a", { runs: 1, status: "completed", messages: [] });
    const [name = ""] = readdirSync(folder);
    writeFileSync(join(folder, name), content);
    await expect(store.read("a")).rejects.toMatchObject({ code: "journal-damaged" });
  });

  it.for(["", " ", 7, undefined])("throws if the path of the folder is %j", (path) => {
    expect(() => fileRunStore(path as string)).toThrow("folder");
  });

  it('lets host.resume() return "busy" until the process of the run is killed', async () => {
    const child = spawn(process.execPath, ["--import", programLoader(), "-e", childProgram(folder)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await new Promise<void>((ready) => child.stdout.once("data", () => ready()));
      const { host, clock } = createStage({ store: fileRunStore(folder) });
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

  it("lets another host start the next run, even if the end of the last run was not stored", async () => {
    const store = fileRunStore(folder);
    const broken: RunStore = {
      ...store,
      write: (id, record) =>
        record.status === "running" ? store.write(id, record) : Promise.reject(new Error("The disk is full.")),
    };
    const { host, clock, id } = createStage({ store: broken });
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
    const second = createRunHost({ store, clock });
    const next = playing([text("Two.")], clock);
    await readStart(second.start(id, { ...next, message: "Go on." }));
    expect(next.provider.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    expect(readFileSync(join(folder, readdirSync(folder).find((name) => name.endsWith(".json")) ?? ""), "utf8")).toContain(
      "Two.",
    );
    await Promise.all([host.close(), second.close()]);
  });
});

function childProgram(path: string): string {
  const from = (file: string): string => JSON.stringify(pathToFileURL(resolve(file)).href);
  return `
    import(${from("src/host/index.ts")}).then(async ({ createRunHost, fileRunStore }) => {
      const { createMockProvider, stall, text, toolCall } = await import(${from("src/testing/index.ts")});
      const script = [[text("One moment."), toolCall("save")], stall()];
      const host = createRunHost({ store: fileRunStore(${JSON.stringify(path)}) });
      const save = { name: "save", description: "save", inputSchema: { type: "object" }, execute: () => "saved before" };
      await host.start("shared", { provider: createMockProvider(script), tools: [save], message: "Save." });
      for await (const { event } of host.join("shared")) if (event.type === "iteration-start" && event.iteration === 1) console.log("ready");
    });
    setInterval(() => {}, 1000);
  `;
}
