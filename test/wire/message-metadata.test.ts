import { defineTool, memoryJournal, type Message, repairMessages, runToolLoop, type UserMessage } from "turnwright";
import { compactMessages, withPlanner } from "turnwright/middleware";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { createMockProvider, text } from "turnwright/testing";
import { readUIChatRequest } from "turnwright/ui-message-stream";
import { expect, it } from "vitest";
import { type Adapter, specAdapters, vendorAdapters } from "./adapters.ts";
import type { ScriptedTurn } from "./scripted.ts";

const metadata = { id: "private-7f", sent: { at: 12 }, tags: ["a", null] };
const parts = [
  { type: "text", text: "And Rome?" },
  { type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" },
] as const;
const messages: readonly Message[] = [
  { role: "user", content: "Do I need a coat in Oslo?", metadata },
  { role: "assistant", content: [{ type: "text", text: "Yes." }] },
  { role: "user", content: parts, pinned: true, metadata },
];
const look = defineTool({ name: "look", description: "Looks", inputSchema: { type: "object" }, execute: () => "seen" });
const turns: readonly ScriptedTurn[] = [
  { calls: [["c1", "look", "{}"]], end: "tools" },
  { text: "No.", end: "stop" },
];
const plan = (next_action: string): ScriptedTurn => ({
  text: JSON.stringify({ next_action, execution_commands: [] }),
  end: "stop",
});

async function play(adapter: Adapter, script: readonly ScriptedTurn[], plans = false) {
  const opened = await adapter.open(script);
  const journal = memoryJournal();
  try {
    const provider = plans ? withPlanner(opened.provider) : opened.provider;
    const result = await runToolLoop({ provider, tools: [look], messages, journal });
    return { result, sent: JSON.stringify(opened.bodies), recorded: JSON.stringify(journal) };
  } finally {
    await opened.close();
  }
}

it.for<[name: string, run: () => ReturnType<typeof play>]>([
  ...[...vendorAdapters, ...specAdapters].map((adapter): [string, () => ReturnType<typeof play>] => [
    adapter.name,
    () => play(adapter, turns),
  ]),
  ...vendorAdapters
    .slice(0, 1)
    .map((adapter): [string, () => ReturnType<typeof play>] => [
      `withPlanner over ${adapter.name}`,
      () => play(adapter, [plan("response"), { text: "No.", end: "stop" }], true),
    ]),
])("runToolLoop: never sends the metadata of user messages to %s", async ([, run]) => {
  const { result, sent, recorded } = await run();
  expect(result.text).toBe("No.");
  expect(result.messages.flatMap((message) => (message.role === "user" ? [message.metadata] : []))).toEqual([metadata, metadata]);
  expect([recorded.includes("private-7f"), sent.includes("And Rome?"), sent.includes("private-7f")]).toEqual([true, true, false]);
});

it("createConversation: never sends the metadata of user messages in a summary request", async () => {
  const requests: unknown[] = [];
  const provider = createMockProvider((request) => {
    requests.push(...request.messages.map((message) => (message.role === "user" ? message.content : message)));
    return text("Fine.");
  });
  const compaction = compactMessages({ when: 10, keep: 5 });
  const chat = createConversation({ id: "c", store: memoryConversationStore(), options: { provider, middleware: [compaction] } });
  await chat.send({ role: "user", content: "A long story. ".repeat(20), metadata });
  await chat.send({ role: "user", content: "Go on.", metadata: { id: "second" } });
  expect(JSON.stringify(requests)).toMatch(/A long story/);
  expect(JSON.stringify(requests)).not.toMatch(/private-7f|second/);
  const kept = (await chat.messages()).flatMap((message) => (message.role === "user" ? [message.metadata] : []));
  expect(kept).toEqual([metadata, { id: "second" }]);
});

it("readUIChatRequest and repairMessages: keep a user message's metadata", async () => {
  const body = { id: "c", messages: [{ id: "m", role: "user", parts: [parts[0]], metadata }] };
  const { message } = await readUIChatRequest(body);
  expect(message).toEqual({ role: "user", id: "m", content: "And Rome?", metadata });
  expect((await readUIChatRequest({ ...body, messages: [{ ...body.messages[0], metadata: "x" }] })).message).toEqual({
    role: "user",
    id: "m",
    content: "And Rome?",
  });
  const broken = [...(message === undefined ? [] : [message]), { role: "tool", results: [] } as const];
  const result = await runToolLoop({ provider: createMockProvider([text("Yes.")]), messages: repairMessages(broken) });
  expect(result.messages[0]).toEqual(message);
});

it.for<[what: string, metadata: unknown]>([
  ["a string", "x"],
  ["null", null],
  ["an array", [1]],
])("runToolLoop: rejects a user message whose metadata is %s and reports the message's index", async ([, wrong]) => {
  const asked = { role: "user", content: "Go.", metadata: wrong } as UserMessage;
  const run = runToolLoop({
    provider: createMockProvider([text("Yes.")]),
    messages: [{ role: "user", content: "Hi." }, asked],
  });
  await expect(run).rejects.toMatchObject({ code: "invalid-messages", details: { index: 1 } });
  await expect(run).rejects.toThrow('has invalid "metadata": it must be a plain JSON object');
});
