// Deletes conversations that nobody has used for a month, with the journals of their runs.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { createMockProvider, text } from "turnwright/testing";

const folder = mkdtempSync(join(tmpdir(), "old-chats-"));
const removed: string[] = [];
const log = (id: string): void => void removed.push(id);
let monthAgo = Date.now() - 30 * 86_400_000;
const provider = createMockProvider([text("Hello.")]);

const first = createRunHost({ store: fileConversationStore(folder) });
const answer = await first.start("chat-1", { provider, message: "Hi." });
if (answer.kind === "started") await answer.result;
monthAgo += 31 * 86_400_000;

// #region old
const host = createRunHost({ store: fileConversationStore(folder) });
for await (const { id, changedAt } of host.list()) {
  if (changedAt < monthAgo && (await host.remove(id)) === "removed") log(id);
}
// #endregion old
assert.deepEqual(removed, ["chat-1"]);
assert.equal(await host.status("chat-1"), undefined);
rmSync(folder, { recursive: true, force: true });
