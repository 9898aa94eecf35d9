// A conversation in a file that two processes share. The first process is killed while a tool runs. The second process resumes the
// run, asks a follow-up, and forks the conversation.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { defineTool, isLoopError, type Message } from "turnwright";
import { type Conversation, createConversation, fileConversationStore } from "turnwright/conversation";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

type Weather = (city: string) => Promise<string>;

/** Every process must use the same directory and the same options. */
function openConversation(folder: string, weather: Weather): Conversation {
  const lookUp = defineTool({
    name: "look_up_weather",
    description: "Looks up the weather in a city",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    // The tool has no side effects, so a call that was cut off may run again.
    replay: "safe",
    execute: () => weather("Oslo"),
  });
  // #region open
  return createConversation({
    id: "chat-17",
    store: fileConversationStore(folder),
    options: { provider: createModel(), tools: [lookUp], pricing: () => 0.001 },
    journal: (runId) => fileJournal(join(folder, `${runId}.journal.jsonl`)),
  });
  // #endregion open
}

/** The script depends only on the transcript, so any process can continue. */
function createModel() {
  return createMockProvider(({ messages }) => {
    const last = messages.at(-1);
    if (last?.role === "tool") return text("Yes, it snows in Oslo.");
    const questions = messages.filter(({ role }) => role === "user").length;
    return questions === 1 ? toolCall("look_up_weather", { city: "Oslo" }) : text(`That was question ${questions}.`);
  });
}

/** The first process asks a question. Its weather service never answers. */
async function ask(folder: string): Promise<void> {
  const silent: Weather = () => {
    console.log("The weather is asked.");
    return new Promise((resolve) => setTimeout(resolve, 2 ** 31 - 1));
  };
  await openConversation(folder, silent).send("Do I need a coat?");
}

async function checkTwoProcesses(folder: string): Promise<void> {
  const conversation = openConversation(folder, async () => "snow");
  const child = spawn(process.execPath, [...process.execArgv, fileURLToPath(import.meta.url), folder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const end = new Promise((resolve) => child.on("exit", (code, signal) => resolve(signal ?? code)));
  for await (const line of createInterface({ input: child.stdout })) {
    assert.equal(line, "The weather is asked.");
    // While another process runs the conversation, this process can read it, but not continue it.
    assert.deepEqual(rolesOf(await conversation.messages()), ["user"]);
    await assert.rejects(conversation.send("Hello?"), (error) => isLoopError(error, "conversation-busy"));
    child.kill("SIGKILL");
  }
  assert.equal(await end, "SIGKILL");
  console.log("✓ a second run is refused while the first one is live, even in another process");

  const { text: answer } = await conversation.resume();
  assert.equal(answer, "Yes, it snows in Oslo.");
  assert.deepEqual(rolesOf(await conversation.messages()), ["user", "assistant", "tool", "assistant"]);
  console.log("✓ the run of a process that was killed goes on in another one");
}

async function checkForkAndUsage(folder: string): Promise<void> {
  const conversation = openConversation(folder, async () => "snow");
  assert.equal((await conversation.send("And gloves?")).text, "That was question 2.");
  const fork = await conversation.fork("chat-18", { atMessage: 4 });
  assert.equal((await fork.send("And boots?")).text, "That was question 2.");
  assert.equal((await conversation.send("And skis?")).text, "That was question 3.");
  const sizes = [await conversation.messages(), await fork.messages()].map(({ length }) => length);
  assert.deepEqual(sizes, [8, 6]);
  const { runs, costUSD = 0 } = await conversation.usage();
  assert.deepEqual([runs, costUSD.toFixed(3)], [3, "0.004"]);
  console.log(`✓ ${runs} runs in two processes cost ${costUSD.toFixed(3)} USD, and a fork goes its own way`);
}

const rolesOf = (messages: readonly Message[]): readonly string[] => messages.map(({ role }) => role);

const [, , given] = process.argv;
if (given === undefined) {
  const folder = mkdtempSync(join(tmpdir(), "chats-"));
  try {
    await checkTwoProcesses(folder);
    await checkForkAndUsage(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
} else {
  await ask(given);
}
