// Programs name journal files after run ids, so run ids must be valid file names on every system.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createConversation, fileConversationStore } from "turnwright/conversation";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text } from "turnwright/testing";
import { makeFolder, removeFolders } from "./stage.ts";

afterAll(removeFolders);

async function runIdsOf(ids: readonly string[]): Promise<readonly string[]> {
  const folder = makeFolder();
  const store = fileConversationStore(join(folder, "chats"), { fsync: false });
  const provider = createMockProvider(() => [text("Yes.")]);
  const runIds: string[] = [];
  for (const id of ids) {
    const journal = (runId: string) => fileJournal(join(folder, `${runId}.journal.jsonl`), { fsync: false });
    const { runId, status } = await createConversation({ id, store, journal, options: { provider } }).send("Hello");
    expect(status).toBe("completed");
    runIds.push(runId);
  }
  expect(readdirSync(folder)).toEqual(expect.arrayContaining(runIds.map((runId) => `${runId}.journal.jsonl`)));
  return runIds;
}

describe("a conversation's run ids", () => {
  const ids = [
    "é".repeat(200),
    "漢".repeat(200),
    "x".repeat(200),
    'user:7?*|<>"',
    "CON",
    "nul",
    ".hidden",
    "-rf",
    "a\u202eb",
    "a ",
    "a.",
  ];

  it("are valid file names on every system, even if the conversation id is long or hostile", async () => {
    for (const runId of await runIdsOf(ids)) {
      expect(runId).toMatch(/^\w[\w.-]{1,99}$/);
      // Windows reserves these file names, with and without an extension.
      expect(runId).not.toMatch(/^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i);
    }
  });

  it("differ if conversation ids differ only in case or in unsafe characters", async () => {
    const runIds = await runIdsOf(["A", "a", "a:b", "a?b", "a\u202eb"]);
    const starts = runIds.map((runId) => runId.toLowerCase().split(".")[0]);
    expect(new Set(starts).size).toBe(runIds.length);
  });

  it("start with the conversation id", async () => {
    const [runId] = await runIdsOf(["chat-17"]);
    expect(runId).toMatch(/^chat-17-[0-9a-f]{16}\.1\.[0-9a-f]{8}$/);
  });
});
