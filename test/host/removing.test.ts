// Conversations can be listed and removed, and journals are kept for a time.

import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import {
  createConversation,
  type ConversationStore,
  fileConversationStore,
  memoryConversationStore,
} from "turnwright/conversation";
import { createRunHost, type RunHost } from "turnwright/host";
import type { KeepRuns } from "../../src/conversation/keep-runs.ts";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, fail, type MockScript, text, toolCall, usage } from "turnwright/testing";
import { readStart, tool } from "./stage.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "removing-"));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(folder, { recursive: true, force: true });
});

const script: MockScript = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== "user") return text("Paid.");
  if (last.content === "Pay.") return toolCall("pay");
  return last.content === "Fail."
    ? fail({ status: 401, message: "No key" })
    : [text("Yes."), usage({ inputTokens: 1, outputTokens: 1 })];
};
const run = { provider: createMockProvider(script), tools: [tool("pay", () => "paid", { needsApproval: true })] };

const journals = (): readonly string[] =>
  readdirSync(folder)
    .filter((name) => name.startsWith("chat-"))
    .map((name) => name.replace(/^chat-\w+\./, "").replace(/\..*/, ""))
    .sort((one, other) => Number(one) - Number(other));

/** The numbers of the runs of a host whose journals the store has. */
const hosted = (): readonly string[] => {
  const names = new Set(readdirSync(folder));
  const nameOf = (number: string): string =>
    `run-${createHash("sha256").update(`chat/${number}`).digest("hex").slice(0, 40)}.jsonl`;
  return ["1", "2", "3", "4", "5", "6"].filter((number) => names.has(nameOf(number)));
};

async function send(host: RunHost, message: string, more: object = {}): Promise<void> {
  await readStart(host.start("chat", { ...run, ...more, message }));
}

const open = (): ConversationStore => fileConversationStore(folder, { fsync: false });

describe("the host's `keepRuns` option", () => {
  it.each<[KeepRuns | undefined, readonly string[]]>([
    [undefined, ["6"]],
    [1, ["6"]],
    [3, ["4", "5", "6"]],
    [Number.POSITIVE_INFINITY, ["1", "2", "3", "4", "5", "6"]],
  ])("keeps the journals of the newest runs (keepRuns: %s)", async (keepRuns, expected) => {
    const host = createRunHost({ store: open(), keepRuns });
    for (let turn = 0; turn < 6; turn += 1) await send(host, "Hello");
    expect(hosted()).toEqual(expected);
    expect((await host.status("chat"))?.messages.length).toBe(12);
  });

  it("keeps the journals of the newest runs in memory", async () => {
    const store = memoryConversationStore();
    const host = createRunHost({ store, keepRuns: 2 });
    for (let turn = 0; turn < 4; turn += 1) await send(host, "Hello");
    const kept = ["1", "2", "3", "4"].filter((number) => store.journal?.(`chat/${number}`).read("run") !== undefined);
    expect(kept).toEqual(["3", "4"]);
  });

  it("keeps journals for a given number of days", async () => {
    const host = createRunHost({ store: open(), keepRuns: { days: 2 } });
    vi.useFakeTimers({ toFake: ["Date"], now: new Date("2026-03-01T12:00:00Z") });
    for (const day of ["01", "02", "03", "04"]) {
      vi.setSystemTime(new Date(`2026-03-${day}T12:00:01Z`));
      await send(host, "Hello");
    }
    expect(hosted()).toEqual(["2", "3", "4"]);
  });

  it("keeps the journals of suspended runs, and of runs whose cost is unknown", async () => {
    const costs = [1, undefined, 1, 1, 1, 1];
    const pricing = () => costs.shift();
    const host = createRunHost({ store: open(), whenSuspended: "deny" });
    for (const message of ["Hello", "Hello", "Pay.", "Hello", "Hello", "Hello"]) await send(host, message, { pricing });
    expect(hosted()).toEqual(["2", "3", "6"]);
  });

  it("keeps a failed run's journal until the next run, so the failed run can be retried", async () => {
    const host = createRunHost({ store: open() });
    await send(host, "Hello");
    await send(host, "Fail.");
    expect(hosted()).toEqual(["2"]);
    expect((await host.resume("chat", { ...run, resume: "retry-last" })).kind).toBe("started");
  });

  it("removes a journal later if it cannot be removed immediately", async () => {
    const store = open();
    let failures = 3;
    const host = createRunHost({
      store: {
        ...store,
        removeJournal: (runId) => {
          failures -= 1;
          if (failures >= 0) throw new Error("The disk is busy.");
          return store.removeJournal?.(runId);
        },
      },
    });
    for (let turn = 0; turn < 3; turn += 1) await send(host, "Hello");
    expect(hosted()).toEqual(["1", "2", "3"]);
    await send(host, "Hello");
    expect(hosted()).toEqual(["4"]);
  });

  it.each([0, -1, 1.5, "3", { days: -1 }, { days: 1, weeks: 1 }, {}])("refuses %j", (keepRuns) => {
    expect(() => createRunHost({ keepRuns: keepRuns as never })).toThrow("keepRuns");
  });
});

describe.each<[string, () => ConversationStore]>([
  ["memoryConversationStore", () => memoryConversationStore()],
  ["fileConversationStore", open],
])("a host with %s", (_name, create) => {
  it("removes a conversation and everything stored for it", async () => {
    const host = createRunHost({ store: create(), keepRuns: 10 });
    for (const message of ["Hello", "Hello", "Pay."]) await send(host, message);
    await readStart(host.start("other", { ...run, message: "Hello" }));
    expect(await host.remove("chat")).toBe("removed");
    expect(await host.remove("chat")).toBe("unknown");
    expect([await host.status("chat"), host.join("chat"), readdirSync(folder).length]).toEqual([
      undefined,
      undefined,
      readdirSync(folder).length === 0 ? 0 : 2,
    ]);
    expect((await host.status("other"))?.runs).toBe(1);
    await send(host, "Hello again");
    expect((await host.status("chat"))?.messages.length).toBe(2);
    expect(await host.remove("nobody")).toBe("unknown");
  });

  it("lists the conversations", async () => {
    const host = createRunHost({ store: create() });
    const ids = ['a"b', "chat", "x".repeat(200), "{}"];
    for (const id of ids) await readStart(host.start(id, { ...run, message: "Hello" }));
    const found: string[] = [];
    for await (const { id, changedAt } of host.list()) {
      found.push(id);
      expect(Math.abs(Date.now() - changedAt)).toBeLessThan(60_000);
    }
    expect(found.toSorted()).toEqual(ids.toSorted());
  });
});

it('host.remove() returns "busy" while another process is using the conversation', async () => {
  const host = createRunHost({ store: open() });
  await send(host, "Pay.");
  const lock = await open().lock("chat");
  expect(await host.remove("chat")).toBe("busy");
  await lock.release();
  expect(await host.remove("chat")).toBe("removed");
  expect(readdirSync(folder)).toEqual([]);
});

it("a host whose store has only load, lock, isLocked and remove refuses list(), and keeps journals", async () => {
  const { load, lock, isLocked, remove } = memoryConversationStore();
  const host = createRunHost({ store: { load, lock, isLocked, remove } });
  await send(host, "Pay.");
  expect((await host.resume("chat", { ...run, answers: { call_i0_0: { kind: "approve" } } })).kind).toBe("started");
  expect(() => host.list()).toThrow("store.list");
});

describe.each<[string, () => ConversationStore]>([
  ["memoryConversationStore", () => memoryConversationStore()],
  ["fileConversationStore", () => fileConversationStore(join(folder, "chats"), { fsync: false })],
])("a conversation with %s", (_name, create) => {
  const chatIn = (store: ConversationStore, keepRuns?: KeepRuns) =>
    createConversation({
      id: "chat",
      store,
      options: run,
      whenSuspended: "deny",
      journal: (runId) => fileJournal(join(folder, `${runId}.jsonl`)),
      removeJournal: (runId) => rmSync(join(folder, `${runId}.jsonl`)),
      keepRuns,
    });

  it.each<[KeepRuns | undefined, readonly string[]]>([
    [undefined, ["2", "5"]],
    [2, ["2", "4", "5"]],
  ])("removes the journals of old runs with keepRuns: %s, but not of suspended runs", async (keepRuns, expected) => {
    const conversation = chatIn(create(), keepRuns);
    for (const message of ["Hello", "Pay.", "Hello", "Hello", "Hello"]) await conversation.send(message);
    expect(journals()).toEqual(expected);
  });

  it("can be listed, and removed together with its journals", async () => {
    const store = create();
    const conversation = chatIn(store);
    for (const message of ["Hello", "Pay."]) await conversation.send(message);
    const listed: string[] = [];
    for await (const { id } of store.list?.() ?? []) listed.push(id);
    expect(listed).toEqual(["chat"]);
    expect(await conversation.remove()).toBe("removed");
    expect(await conversation.remove()).toBe("unknown");
    expect([await conversation.messages(), journals()]).toEqual([[], []]);
    expect((await conversation.usage()).runs).toBe(0);
  });
});
