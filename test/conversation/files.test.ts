import { readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { createConversation, fileConversationStore } from "turnwright/conversation";
import { createMockProvider, text } from "turnwright/testing";
import { makeFolder, removeFolders, show } from "./stage.ts";

afterAll(removeFolders);

const answer = createMockProvider(() => [text("Yes.")], { record: false });

const open = (folder: string, id = "chat-17") =>
  createConversation({ id, store: fileConversationStore(folder, { fsync: false }), options: { provider: answer } });

function onlyFile(folder: string): string {
  const names = readdirSync(folder);
  expect(names).toEqual([expect.stringMatching(/^[0-9a-f]{40}\.jsonl$/)]);
  return join(folder, names[0] ?? "");
}

describe("fileConversationStore", () => {
  it("creates a folder and a file that only the owner can access, with a hash as the file name", async () => {
    const folder = join(makeFolder(), "deep", "chats");
    await open(folder, "a@example.org").send("Is it on?");
    const modes = [folder, onlyFile(folder)].map((path) => statSync(path).mode & 0o777);
    expect(modes).toEqual([0o700, 0o600]);
  });

  it("removes the journals that it created, except for the last run's journal", async () => {
    const folder = makeFolder();
    const store = fileConversationStore(folder, { fsync: false });
    const options = { provider: answer };
    const conversation = createConversation({ id: "chat-17", store, journal: store.journal, options });
    for (const message of ["Is it on?", "And now?", "Still?"]) await conversation.send(message);
    expect(readdirSync(folder)).toHaveLength(2);
    await conversation.remove();
    expect(readdirSync(folder)).toEqual([]);
  });

  it("adds new messages to the file without changing earlier ones", async () => {
    const folder = makeFolder();
    const conversation = open(folder);
    const sizes: number[] = [];
    let before = "";
    for (let round = 0; round < 30; round += 1) {
      await conversation.send("Is it on?");
      const content = readFileSync(onlyFile(folder), "utf8");
      expect(content.startsWith(before)).toBe(true);
      sizes.push(content.length - before.length);
      before = content;
    }
    // The lines differ only in the digits of the counts of messages, runs and tokens.
    expect(Math.max(...sizes.slice(1)) - Math.min(...sizes.slice(1))).toBeLessThan(60);
  });

  it("repairs a file that was truncated at any byte, without losing a complete change", async () => {
    const folder = makeFolder();
    await open(folder).send("Is it on?");
    const path = onlyFile(folder);
    const content = readFileSync(path);
    const lastLine = content.lastIndexOf("\n", content.length - 2) + 1;
    const shown = new Set<string>();
    for (let end = lastLine; end <= content.length; end += 1) {
      writeFileSync(path, content);
      truncateSync(path, end);
      const conversation = open(folder);
      const found = show(await conversation.messages());
      // If only the line break is missing, the line is still complete.
      const isWhole = end >= content.length - 1;
      expect(found).toEqual(isWhole ? ["user: Is it on?", "model: Yes."] : ["user: Is it on?"]);
      if (end % 20 !== 0 && end < content.length - 2) continue;
      await conversation.send("And now?");
      shown.add(show(await conversation.messages()).join("; "));
    }
    expect([...shown]).toEqual([
      "user: Is it on?; user: And now?; model: Yes.",
      "user: Is it on?; model: Yes.; user: And now?; model: Yes.",
    ]);
  });

  it("refuses a file in which a byte was changed", async () => {
    const folder = makeFolder();
    await open(folder).send("Is it on?");
    const path = onlyFile(folder);
    writeFileSync(path, readFileSync(path, "utf8").replace("Is it on?", "Is it of?"));
    await expect(open(folder).messages()).rejects.toMatchObject({ code: "journal-damaged" });
    await expect(open(folder).send("And now?")).rejects.toMatchObject({ code: "journal-damaged" });
  });

  it("keeps 10,000 messages", async () => {
    const folder = makeFolder();
    const store = fileConversationStore(folder, { fsync: false });
    const lock = await store.lock("chat-17");
    const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
    const state = { runs: 0, usage, costUSD: 0, undelivered: [] };
    const words = "x".repeat(200);
    for (let from = 0; from < 10_000; from += 2) {
      const messages = [
        { role: "user", content: `${from} ${words}` },
        { role: "assistant", content: [{ type: "text", text: words }] },
      ] as const;
      await lock.append({ from, messages, state });
    }
    await lock.release();
    const result = await open(folder).send("Is it on?");
    expect([result.messages.length, (await open(folder).messages()).length]).toEqual([10_002, 10_002]);
  });
});
