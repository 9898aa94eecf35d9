// Checks the chat server with real connections: conversations, follow-ups, steering, stops, and tabs that close or stop reading.

import assert from "node:assert/strict";
import { request } from "node:http";
import { defineTool, type Message, type Tool } from "turnwright";
import { chunk, stall, text, toolCall } from "turnwright/testing";
import { openChat, type ShownEvent } from "./chat-client.ts";

export async function checkChatServer(tools: readonly Tool[]): Promise<void> {
  await checkRequests(tools);
  await checkConversations(tools);
  await checkInterrupt(tools);
  await checkFollowUpOfTools();
  await checkSteering();
  await checkStop();
  await checkClosedTab(tools);
  await checkSlowTab(tools);
}

async function checkRequests(tools: readonly Tool[]): Promise<void> {
  const chat = await openChat([text("Yes.")], tools);
  const post = async (contentType: string, body: string): Promise<number> => {
    const response = await fetch(`${chat.url}/chat/c2`, { method: "POST", headers: { "content-type": contentType }, body });
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await post("application/json; charset=utf-8", '{"text":"Is it on?"}'), 200);
  assert.equal(await post("application/json", '{"text":" "}'), 400);
  assert.equal(await post("application/json", JSON.stringify({ text: "x".repeat(2_001) })), 400);
  assert.equal(await post("text/plain", '{"text":"Is it on?"}'), 400);
  assert.deepEqual([await chat.post("Hm.", "/steer"), await chat.post("", "/stop")], [409, 409]);
  assert.equal((await fetch(`${chat.url}/favicon.ico`)).status, 204);
  assert.equal((await fetch(`${chat.url}/else`)).status, 404);
  assert.equal((await fetch(`${chat.url}/chat/a%2Fb`, { method: "POST" })).status, 404);
  assert.match(await (await fetch(chat.url)).text(), /<title>Chat<\/title>/);
  const asAnother = await new Promise((resolve, reject) => {
    const options = { headers: { host: "another.example" } };
    const asked = request(chat.url, options, (response) => resolve(response.resume().statusCode));
    asked.on("error", reject).end();
  });
  assert.equal(asAnother, 403);
  assert.equal(chat.provider.calls, 1);
  chat.close();
  console.log("✓ what is no question is refused");
}

async function checkConversations(tools: readonly Tool[]): Promise<void> {
  const chat = await openChat(
    [toolCall("get_time", { timeZone: "UTC" }), text("Time for tea.", { chunks: 3 }), text("Which?"), text("Green.")],
    tools,
  );
  const first = await (await chat.ask("What is it time for?")).until();
  assert.deepEqual(typesOf(first), ["tool-start", "tool-end", "text-delta", "text-delta", "text-delta", "run-end"]);
  // "__proto__" is a valid conversation id. A plain object as a store would find its prototype under this id.
  await (await chat.ask("Which one?", "__proto__")).until();
  assert.deepEqual(rolesOf(chat.provider.requests.at(-1)?.messages), ["user"]);
  const [delta, end] = await (await chat.ask("Which one?")).until();
  assert.equal(delta?.text, "Green.");
  assert.deepEqual(end, { type: "run-end", status: "completed", reason: "answered" });
  // The request for the second question contained the whole transcript of the first question.
  assert.deepEqual(rolesOf(chat.provider.requests.at(-1)?.messages), ["user", "assistant", "tool", "assistant", "user"]);
  chat.close();
  console.log("✓ a conversation continues where it was, while others run");
}

async function checkInterrupt(tools: readonly Tool[]): Promise<void> {
  const chat = await openChat([[text("Once upon a time"), stall()], text("In short: rain.")], tools);
  const answer = await chat.ask("Tell me of the weather.");
  await answer.until("text-delta");
  assert.equal(await chat.post("In one sentence."), 202);
  assert.deepEqual(await answer.until(), [
    { type: "run-end", status: "follow-up-interrupt", reason: "interrupted" },
    { type: "text-delta", text: "In short: rain." },
    { type: "run-end", status: "completed", reason: "answered" },
  ]);
  // The second run answered both questions. The partial answer of the first run is not in the transcript.
  assert.deepEqual(chat.provider.requests[1]?.messages, [
    { role: "user", content: "Tell me of the weather." },
    { role: "user", content: "In one sentence." },
  ]);
  chat.close();
  console.log("✓ a follow-up interrupts an answer, and is answered with the question before it");
}

async function checkFollowUpOfTools(): Promise<void> {
  const digging = createDigging();
  const chat = await openChat([toolCall("dig"), text("Gold."), text("At noon.")], [digging.tool]);
  const answer = await chat.ask("What is down there?");
  await answer.until("tool-start");
  assert.equal(await chat.post("And when was it found?"), 202);
  digging.finish();
  const events = await answer.until();
  assert.deepEqual(typesOf(events), ["tool-end", "text-delta", "run-end", "text-delta", "run-end"]);
  assert.deepEqual(textsOf(events), ["Gold.", "At noon."]);
  assert.deepEqual(rolesOf(chat.provider.requests[1]?.messages), ["user", "assistant", "tool"]);
  assert.deepEqual(rolesOf(chat.provider.requests[2]?.messages), ["user", "assistant", "tool", "assistant", "user"]);
  chat.close();
  console.log("✓ a follow-up to a run that uses its tools is the next question");
}

async function checkSteering(): Promise<void> {
  const digging = createDigging();
  const chat = await openChat([toolCall("dig"), text("Nothing but stones.")], [digging.tool]);
  const answer = await chat.ask("What is down there?");
  await answer.until("tool-start");
  assert.equal(await chat.post("Leave the gold out.", "/steer"), 202);
  digging.finish();
  const events = await answer.until();
  assert.deepEqual(typesOf(events), ["tool-end", "steered", "text-delta", "run-end"]);
  const { requests } = chat.provider;
  assert.deepEqual(requests[1]?.messages.at(-1), { role: "user", content: "Leave the gold out." });
  chat.close();
  console.log("✓ a steering message joins the run that works");
}

async function checkStop(): Promise<void> {
  const digging = createDigging();
  const chat = await openChat([[text("I dig. "), toolCall("dig")], text("I see.")], [digging.tool]);
  const answer = await chat.ask("What is down there?");
  await answer.until("tool-start");
  assert.equal(await chat.post("And when was it found?"), 202);
  assert.equal(await chat.post("Be quick.", "/steer"), 202);
  assert.equal(await chat.post("", "/stop"), 202);
  assert.deepEqual(await answer.until(), [
    { type: "tool-end", name: "dig", outcome: "interrupted" },
    { type: "run-end", status: "stopped-by-user", reason: "stopped" },
  ]);
  // A stopped run keeps its transcript. The next run continues from that transcript, and begins with the messages that came too
  // late.
  await (await chat.ask("Never mind.")).until();
  assert.deepEqual(rolesOf(chat.provider.requests[1]?.messages), ["user", "assistant", "tool", "user", "user", "user"]);
  assert.equal(await chat.post("", "/stop"), 409);
  chat.close();
  console.log("✓ a stop keeps what was not delivered");
}

async function checkClosedTab(tools: readonly Tool[]): Promise<void> {
  const chat = await openChat([[text("One moment", { chunks: 2 }), stall()]], tools);
  const answer = await chat.ask("Say something long.");
  await answer.until("text-delta");
  await answer.until("text-delta");
  await answer.leave();
  const result = await chat.ended;
  assert.equal(result.reason.kind, "aborted");
  assert.equal(result.text, "One moment");
  assert.equal(chat.provider.active, 0);
  chat.close();
  console.log("✓ a run ends when its tab is closed, and its model with it");
}

async function checkSlowTab(tools: readonly Tool[]): Promise<void> {
  const piece = chunk({ type: "text-delta", text: "x".repeat(65_536) });
  const chat = await openChat([Array.from({ length: 1_000 }, () => piece)], tools);
  const answer = await chat.ask("Say more than anybody can read.");
  await answer.until("text-delta");
  await answer.leave();
  const result = await chat.ended;
  assert.equal(result.reason.kind, "aborted");
  assert(result.text.length < 65_536_000, "the model was not held back");
  assert.equal(chat.provider.active, 0);
  chat.close();
  console.log("✓ a model is held back by a tab that does not read");
}

function createDigging(): { readonly tool: Tool; finish(): void } {
  let finish = (): void => {};
  const finished = new Promise<string>((resolve) => {
    finish = () => resolve("gold and stones");
  });
  const tool = defineTool({
    name: "dig",
    description: "Digs a hole",
    inputSchema: { type: "object" },
    execute: (_args, { signal }) =>
      Promise.race([finished, new Promise<never>((_resolve, reject) => signal.addEventListener("abort", reject))]),
  });
  return { tool, finish: () => finish() };
}

function typesOf(events: readonly ShownEvent[]): readonly string[] {
  return events.map(({ type }) => type);
}

function textsOf(events: readonly ShownEvent[]): readonly (string | undefined)[] {
  return events.flatMap(({ type, text: said }) => (type === "text-delta" ? [said] : []));
}

function rolesOf(messages: readonly Message[] = []): readonly string[] {
  return messages.map(({ role }) => role);
}
