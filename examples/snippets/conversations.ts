// Conversations that keep their transcript in a store: runs, streams, approvals, forks, and stores.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Pool } from "pg";
import { defineTool, isLoopError } from "turnwright";
import { compactMessages } from "turnwright/middleware";
import {
  createConversation,
  fileConversationStore,
  memoryConversationStore,
  postgresConversationStore,
} from "turnwright/conversation";
import { readRunLog, runLog } from "turnwright/inspect";
import { tracing } from "turnwright/observe";
import { conversationStoreSuite, createMockProvider, text, toolCall } from "turnwright/testing";

const tools = [
  defineTool({
    name: "pay",
    description: "Pays an amount",
    inputSchema: { type: "object", properties: { amount: { type: "number" } } },
    needsApproval: true,
    execute: () => "Paid.",
  }),
];
const provider = createMockProvider(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "tool") return text("I have paid it.");
  const said = last?.role === "user" && typeof last.content === "string" ? last.content : "";
  return said.startsWith("Pay") ? toolCall("pay", { amount: 20 }) : text(`You said: ${said}`);
});
const directory = mkdtempSync(join(tmpdir(), "chats-"));
const home = process.cwd();
process.chdir(directory);
const shown: string[] = [];
const console = { log: (part: string): void => void shown.push(part), error: (): void => {} };

// #region create
const chats = fileConversationStore("chats"); // a folder
const conversation = createConversation({
  id: "chat-17",
  store: chats,
  options: { provider, tools, middleware: [compactMessages({ when: 50_000, keep: 10_000 })] },
  journal: chats.journal, // survives a crash; old journals are removed
});
const first = await conversation.send("Do I need a coat in Oslo?"); // a LoopResult
// #endregion create
assert.equal(first.text, "You said: Do I need a coat in Oslo?");

{
  const process = { stdout: { write: console.log } };
  // #region stream
  const stream = conversation.stream("And tomorrow?", { limits: { maxIterations: 5 } }); // for this run only
  for await (const event of stream) if (event.type === "text-delta") process.stdout.write(event.text);
  const second = await stream.result;
  // #endregion stream
  assert.deepEqual([second.text, shown.join("")], ["You said: And tomorrow?", "You said: And tomorrow?"]);
}

// #region resume
const { status, reason } = await conversation.send("Pay the bill, please.");
if (status === "suspended" && "calls" in reason) {
  const answers = Object.fromEntries(reason.calls.map(({ id }) => [id, { kind: "approve" as const }]));
  const { text: answer } = await conversation.resume({ answers }); // also in another process, and days later
  console.log(answer);
}
// #endregion resume
assert.equal(shown.at(-1), "I have paid it.");

// #region fork
const fork = await conversation.fork("chat-18", { atMessage: 2 }); // the first question and its answer
await fork.send("And in Bergen?");
const { usage, costUSD, runs } = await fork.usage(); // of the fork alone
// #endregion fork
assert.deepEqual([usage.totalTokens > 0, costUSD, runs], [true, undefined, 1]);
assert.equal((await conversation.messages()).length, 8);

const path = join(directory, "runs.jsonl");
const watched = createConversation({
  id: "chat-19",
  store: fileConversationStore(directory),
  options: { provider, tools, middleware: [runLog({ to: path }), tracing({ agentName: "support" })] },
});
for (const question of ["Hello.", "And tomorrow?"]) await watched.send(question);
assert.equal((await readRunLog(path)).runs.length, 2);

/** POST /chats/:id */
// #region busy
async function post(id: string, message: string): Promise<Response> {
  try {
    const { text: answer } = await open(id).send(message); // first check that the user may use this chat
    return new Response(answer);
  } catch (error) {
    if (isLoopError(error, "conversation-busy")) return new Response("Wait for the answer, please.", { status: 409 });
    throw error;
  }
}
// #endregion busy
const store = memoryConversationStore();
const open = (id: string) => createConversation({ id, store, options: { provider } });
const answers = await Promise.all([post("chat-1", "Hello."), post("chat-1", "Hello?")]);
assert.equal(answers.filter((response) => response.status === 409).length, 1);

{
  // #region postgres
  const pool = new Pool({ connectionString: process.env["DATABASE_URL"] });
  pool.on("error", console.error); // without a listener, a closed connection ends the process
  const chats = postgresConversationStore(pool);
  const conversation = createConversation({
    id: "chat-20",
    store: chats,
    options: { provider, tools },
    journal: chats.journal, // lets another process resume a run
  });
  // #endregion postgres
  assert.equal(conversation.id, "chat-20"); // connects with the first message
}

const checks = conversationStoreSuite({ open: () => fileConversationStore(directory) });
for (const { title, run } of checks) await run().catch((error: unknown) => console.log(`${title}: ${String(error)}`));
assert.equal(shown.at(-1), "I have paid it.");
process.chdir(home);
rmSync(directory, { recursive: true, force: true });
