// Deletes everything about a user, and conversations that nobody has used for a month, with the journals of their runs.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileConversationStore } from "turnwright/conversation";
import type { Worker } from "turnwright/dbos";
import { createRunHost, type RunHost } from "turnwright/host";
import { createMockProvider, text } from "turnwright/testing";

const folder = mkdtempSync(join(tmpdir(), "old-chats-"));
const home = process.cwd();
process.chdir(folder);
const removed: string[] = [];
const console = { log: (id: string): void => void removed.push(id) };
const provider = createMockProvider([text("Hello.")]);

const first = createRunHost({ store: fileConversationStore("chats") });
const answer = await first.start("chat-1", { provider, message: "Hi." });
if (answer.kind === "started") await answer.result;
const Date = { now: () => globalThis.Date.now() + 31 * 86_400_000 };

// #region user
/** The ids and files of one user. Only your own table knows them. */
interface UserData {
  readonly chats: readonly string[];
  readonly runs: readonly string[]; // of durable loops
  readonly files: readonly string[]; // run logs, journals, folders of blobs
}

/** Returns what could not be deleted. */
async function eraseUser({ chats, runs, files }: UserData, host: RunHost, worker: Worker): Promise<readonly string[]> {
  const left: string[] = [];
  for (const id of chats) {
    const answer = await host.remove(id); // with the journals of its runs
    if (answer !== "removed") left.push(`${id}: ${answer}`); // "unknown": no chat has this id. "busy": stop its run first
  }
  const count = await worker.deleteRuns({ ids: runs });
  if (count < runs.length) left.push(`${runs.length - count} runs are live or unknown`);
  for (const file of files) await rm(file, { recursive: true, force: true });
  return left;
}
// #endregion user

const file = join(folder, "run.log");
writeFileSync(file, "");
const worker = { deleteRuns: async () => 1 } as unknown as Worker; // stands for the one of `launchWorker`
const user: UserData = { chats: ["chat-2", "chat-3"], runs: ["ticket-7", "ticket-8"], files: [file] };
const second = await first.start("chat-2", { provider: createMockProvider([text("Hello.")]), message: "Hi." });
if (second.kind === "started") await second.result;
assert.deepEqual(await eraseUser(user, first, worker), ["chat-3: unknown", "1 runs are live or unknown"]);
assert.deepEqual([await first.status("chat-2"), existsSync(file)], [undefined, false]);

// #region old
const monthAgo = Date.now() - 30 * 86_400_000;
const host = createRunHost({ store: fileConversationStore("chats") });
for await (const { id, changedAt } of host.list()) {
  if (changedAt < monthAgo && (await host.remove(id)) === "removed") console.log(id);
}
// #endregion old
assert.deepEqual(removed, ["chat-1"]);
assert.equal(await host.status("chat-1"), undefined);
process.chdir(home);
rmSync(folder, { recursive: true, force: true });
