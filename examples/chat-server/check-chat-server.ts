// What the chat server promises, over real sockets: a whole conversation, a tab that closes, and a tab that stops reading.

import assert from "node:assert/strict";
import { once } from "node:events";
import { z } from "zod";
import type { LoopResult, Tool } from "turnwright";
import { chunk, createMockProvider, type MockProvider, type MockScript, stall, text, toolCall } from "turnwright/testing";
import { createChatServer } from "./chat-server.ts";

/** Runs every check. */
export async function checkChatServer(tools: readonly Tool[]): Promise<void> {
  await checkRequests(tools);
  await checkConversation(tools);
  await checkClosedTab(tools);
  await checkSlowTab(tools);
}

async function checkRequests(tools: readonly Tool[]): Promise<void> {
  const chat = await openChat([text("Yes.")], tools);
  const post = async (contentType: string, body: string): Promise<number> => {
    const request = { method: "POST", headers: { "content-type": contentType }, body };
    const response = await fetch(`${chat.url}/chat/c2`, request);
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await post("application/json; charset=utf-8", '{"question":"Is it on?"}'), 200);
  assert.equal(await post("application/json", '{"question":" "}'), 400);
  assert.equal(await post("text/plain", '{"question":"Is it on?"}'), 400);
  assert.equal((await fetch(`${chat.url}/favicon.ico`)).status, 204);
  assert.equal((await fetch(`${chat.url}/else`)).status, 404);
  assert.match(await (await fetch(chat.url)).text(), /<title>Chat<\/title>/);
  chat.close();
  console.log("✓ what is no question is refused");
}

async function checkConversation(tools: readonly Tool[]): Promise<void> {
  const chat = await openChat(
    [toolCall("get_time", { timeZone: "UTC" }), text("Time for tea.", { chunks: 3 }), text("Green.")],
    tools,
  );
  const types = (await chat.ask("What is it time for?")).map(({ type }) => type);
  assert.deepEqual(types, ["tool-start", "tool-end", "text-delta", "text-delta", "text-delta", "run-end"]);
  const [delta, end] = await chat.ask("Which one?");
  assert.equal(delta?.text, "Green.");
  assert.deepEqual(end, { type: "run-end", status: "completed", reason: "answered" });
  // The second question came with all that was said and done before it.
  const roles = chat.provider.requests.at(-1)?.messages.map(({ role }) => role);
  assert.deepEqual(roles, ["user", "assistant", "tool", "assistant", "user"]);
  chat.close();
  console.log("✓ a conversation goes on where it was");
}

async function checkClosedTab(tools: readonly Tool[]): Promise<void> {
  const chat = await openChat([[text("One moment", { chunks: 2 }), stall()]], tools);
  await chat.ask("Say something long.", 2);
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
  await chat.ask("Say more than anybody can read.", 1);
  const result = await chat.ended;
  assert.equal(result.reason.kind, "aborted");
  assert(result.text.length < 65_536_000, "the model was not held back");
  assert.equal(chat.provider.active, 0);
  chat.close();
  console.log("✓ a model is held back by a tab that does not read");
}

interface Chat {
  readonly url: string;
  readonly provider: MockProvider;
  /** How the first run ended. */
  readonly ended: Promise<LoopResult>;
  /** Asks as a tab does; with `limit`, closes the tab after so many events. */
  ask(question: string, limit?: number): Promise<readonly ShownEvent[]>;
  close(): void;
}

async function openChat(script: MockScript, tools: readonly Tool[]): Promise<Chat> {
  const provider = createMockProvider(script);
  let onEnd: (result: LoopResult) => void = () => {};
  const ended = new Promise<LoopResult>((resolve) => {
    onEnd = resolve;
  });
  const server = createChatServer({ provider, tools, onEnd }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  const url = `http://127.0.0.1:${address.port}`;
  const ask = async (question: string, limit = Infinity): Promise<readonly ShownEvent[]> => {
    const response = await fetch(`${url}/chat/c1`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ question }),
    });
    const events: ShownEvent[] = [];
    for await (const event of readEvents(response)) if (events.push(event) >= limit) break;
    return events;
  };
  const close = (): void => {
    server.close();
    server.closeAllConnections();
  };
  return { url, provider, ended, ask, close };
}

const shownEvent = z.looseObject({ type: z.string(), text: z.string().optional() });
type ShownEvent = z.infer<typeof shownEvent>;

/** The events of a response. Leaving early cancels the response, which closes its connection as a closed tab does. */
async function* readEvents(response: Response): AsyncGenerator<ShownEvent> {
  assert(response.body !== null);
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const frames = `${rest}${piece}`.split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) yield shownEvent.parse(JSON.parse(frame.replace(/^data: /, "")));
  }
}
