// Files that somebody has edited or copied, and databases that fail.

import { createHash } from "node:crypto";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import {
  type ConversationStore,
  createConversation,
  fileConversationStore,
  memoryConversationStore,
  postgresConversationStore,
} from "turnwright/conversation";
import { createMockProvider, stall, text } from "turnwright/testing";
import { head, toLine } from "../../src/journal/journal-lines.ts";
import { countListeners } from "../loop/count-listeners.ts";
import { makeFolder, removeFolders } from "./stage.ts";

afterAll(removeFolders);

const provider = createMockProvider(() => [text("Yes.")], { record: false });
const open = (id: string, store: ConversationStore) => createConversation({ id, store, options: { provider } });

function pathOf(folder: string, id: string): string {
  return join(folder, `${createHash("sha256").update(id).digest("hex").slice(0, 40)}.jsonl`);
}

const state = { runs: 0, usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 }, costUSD: 0, undelivered: [] };
const valid = { from: 0, messages: [{ role: "user", content: "Hi." }], state };
const ended = { runId: "chat-17.1", status: "completed" };

describe("fileConversationStore with edited files", () => {
  it.for<[what: string, change: unknown]>([
    ["null", null],
    ["a number instead of an object", 5],
    ["a negative number of messages", { ...valid, from: -1 }],
    ["a number of messages that is too large", { ...valid, from: 1 }],
    ["the largest possible number of messages", { ...valid, from: 4_294_967_295 }],
    ["no messages", { ...valid, messages: null }],
    ["a message that is not an object", { ...valid, messages: [5] }],
    ["no state", { ...valid, state: null }],
    ["a string as the number of runs", { ...valid, state: { ...state, runs: "1" } }],
    ["undelivered messages that are not an array", { ...valid, state: { ...state, undelivered: {} } }],
    ["a run that begins after the last message", { ...valid, state: { ...state, lastRun: { ...ended, start: 2 } } }],
  ])("refuses a record with %s, even if its checksum is valid", async ([, change]) => {
    const folder = makeFolder();
    const { text: line } = toLine(JSON.stringify({ key: "chat-17/0", kind: "result", answer: change }), "");
    writeFileSync(pathOf(folder, "chat-17"), head + line);
    const chat = open("chat-17", fileConversationStore(folder));
    for (const attempt of [() => chat.send("Is it on?"), () => chat.messages(), () => chat.status()])
      await expect(attempt()).rejects.toMatchObject({ code: "journal-damaged" });
    // The failed run has released the lock.
    await expect(chat.send("Is it on?")).rejects.toMatchObject({ code: "journal-damaged" });
  });

  it("refuses another conversation's file", async () => {
    const folder = makeFolder();
    const store = fileConversationStore(folder);
    await open("alice", store).send("My secret.");
    copyFileSync(pathOf(folder, "alice"), pathOf(folder, "bob"));
    await expect(open("bob", store).messages()).rejects.toMatchObject({ code: "journal-damaged" });
    await expect(open("alice", store).messages()).resolves.toHaveLength(2);
  });
});

describe("a conversation whose lock cannot be released", () => {
  const memory = memoryConversationStore();
  const store: ConversationStore = {
    ...memory,
    lock: async (id) => {
      const lock = await memory.lock(id);
      const release = async (): Promise<void> => {
        await lock.release();
        throw new Error("The connection is closed.");
      };
      return { ...lock, release };
    },
  };

  it("still returns the result of send() and the error of a refused resume()", async () => {
    const chat = open("chat-17", store);
    await expect(chat.send("Is it on?")).resolves.toMatchObject({ text: "Yes." });
    await expect(chat.resume()).rejects.toMatchObject({ code: "conversation-refused" });
    await expect(chat.fork("chat-18")).resolves.toMatchObject({ id: "chat-18" });
  });
});

describe("createConversation with the `signal` option", () => {
  it("stops the run when the signal is aborted", async () => {
    const abort = new AbortController();
    const { signal } = abort;
    const listeners = countListeners();
    onTestFinished(() => listeners.stop());
    const memory = memoryConversationStore();
    const lost = new AbortController();
    const store: ConversationStore = { ...memory, lock: async (id) => ({ ...(await memory.lock(id)), lost: lost.signal }) };
    const answering = createMockProvider((_request, index) => {
      if (index === 1) abort.abort(new Error("The user left."));
      return [text("Yes.")];
    });
    const chat = createConversation({ id: "chat-17", store, options: { provider: answering, signal } });
    await expect(chat.send("Is it on?")).resolves.toMatchObject({ status: "completed" });
    expect(listeners.on(signal)).toBe(0);
    await expect(chat.send("Is it on?")).resolves.toMatchObject({
      reason: { kind: "aborted", reason: { message: "The user left." } },
    });
  });
});

describe("postgresConversationStore", () => {
  it("stops a run if the database no longer answers", async () => {
    const stalled = createMockProvider(() => [text("Once"), stall()]);
    const pool = {
      query: (statement: string): Promise<{ readonly rows: readonly object[] }> =>
        statement.includes("UPDATE turnwright.chats SET held_until")
          ? new Promise(() => {})
          : Promise.resolve({ rows: statement.includes("SELECT state") ? [] : [{ id: "chat-17" }] }),
    };
    const store = postgresConversationStore(pool, { leaseMs: 100 });
    const chat = createConversation({ id: "chat-17", store, options: { provider: stalled } });
    await expect(chat.send("Is it on?")).resolves.toMatchObject({ status: "stopped-by-user" });
  });
});
