import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { createMockProvider, runTool, stall, text } from "turnwright/testing";
import { createFileTools } from "../src/file-tools.ts";
import { script } from "../src/script.ts";
import { createSession } from "../src/session.ts";

const folder = await mkdtemp(join(tmpdir(), "terminal-agent-"));
const files = join(folder, "files");
await mkdir(files);
await writeFile(join(files, "notes.txt"), "Buy tea.");
await writeFile(join(folder, "secret.txt"), "Keep out.");
await symlink(join(folder, "secret.txt"), join(files, "link.txt"));
const tools = createFileTools(files);
const [, readText] = tools;
assert(readText !== undefined);

await test("the tools read files in the folder", async () => {
  const outcome = await runTool(readText, { path: "notes.txt" });
  assert(outcome.kind === "completed");
  assert.equal(outcome.data, "Buy tea.");
});

for (const path of ["../secret.txt", "link.txt", "absent.txt"]) {
  await test(`the tools refuse ${path}`, async () => {
    const outcome = await runTool(readText, { path });
    assert.equal(outcome.kind, "failed");
  });
}

await test("a question gets an answer, and the next start continues the conversation", async () => {
  let shown = "";
  const options = { tools, folder: join(folder, "data"), write: (piece: string) => void (shown += piece) };
  await createSession({ ...options, provider: script }).say("What is here?");
  assert.match(shown, /\[list_files\][\s\S]*notes\.txt/);

  const next = createMockProvider([text("You asked what is here.")]);
  await createSession({ ...options, provider: next }).say("What did I ask?");
  assert.equal(next.requests[0]?.messages.length, 5); // a question, a call, its result, an answer, and the new question
});

await test("a stop ends an answer that would never end", async () => {
  let shown = "";
  const provider = createMockProvider([[text("Once upon a time"), stall()]]);
  const write = (piece: string): void => {
    shown += piece;
    if (piece.startsWith("Once")) session.stop();
  };
  const session = createSession({ provider, tools, folder: join(folder, "stopped"), write });
  await session.say("Tell me a story.");
  assert.match(shown, /Once upon a time\n\(stopped/);
});

await rm(folder, { recursive: true });
