// A client of the chat server. It uses real connections, as a browser does.

import assert from "node:assert/strict";
import { once } from "node:events";
import { z } from "zod";
import type { LoopResult, Tool } from "turnwright";
import { memoryConversationStore } from "turnwright/conversation";
import { createMockProvider, type MockProvider, type MockScript } from "turnwright/testing";
import { createChatServer } from "./chat-server.ts";

export interface ShownEvent {
  readonly type: string;
  readonly text?: string | undefined;
}

const shownEvent: z.ZodType<ShownEvent> = z.looseObject({ type: z.string(), text: z.string().optional() });

export interface Chat {
  readonly url: string;
  readonly provider: MockProvider;
  readonly ended: Promise<LoopResult>;
  ask(text: string, conversation?: string): Promise<OpenAnswer>;
  /** Sends a message while an answer is streamed, and returns the HTTP status. Without `verb`, the message is a follow-up. */
  post(text: string, verb?: "" | "/steer" | "/stop"): Promise<number>;
  close(): void;
}

interface OpenAnswer {
  /** Returns the events up to the first event of this type. Without `type`, returns all events until the answer ends. */
  until(type?: string): Promise<readonly ShownEvent[]>;
  /** Disconnects, as a browser does when the user closes the tab. */
  leave(): Promise<unknown>;
}

export async function openChat(script: MockScript, tools: readonly Tool[]): Promise<Chat> {
  const provider = createMockProvider(script);
  let onEnd: (result: LoopResult) => void = () => {};
  const ended = new Promise<LoopResult>((resolve) => {
    onEnd = resolve;
  });
  const server = createChatServer({ provider, tools, store: memoryConversationStore(), onEnd }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(address !== null && typeof address === "object");
  const url = `http://127.0.0.1:${address.port}`;
  const send = (path: string, text: string): Promise<Response> =>
    fetch(`${url}/chat/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ text }),
    });
  return {
    url,
    provider,
    ended,
    async ask(text, conversation = "c1") {
      const response = await send(conversation, text);
      assert.equal(response.status, 200);
      return readAnswer(response);
    },
    post: async (text, verb = "") => (await send(`c1${verb}`, text)).status,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

function readAnswer(response: Response): OpenAnswer {
  const events = readEvents(response);
  return {
    async until(type) {
      const seen: ShownEvent[] = [];
      for (let next = await events.next(); next.done !== true; next = await events.next()) {
        seen.push(next.value);
        if (next.value.type === type) return seen;
      }
      assert.equal(type, undefined, `there is no ${type} in ${JSON.stringify(seen)}`);
      return seen;
    },
    // Ends the `for await` loop over the events, which closes the connection.
    leave: () => events.return(undefined),
  };
}

async function* readEvents(response: Response): AsyncGenerator<ShownEvent, undefined> {
  assert(response.body !== null);
  let rest = "";
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    const frames = `${rest}${piece}`.split("\n\n");
    rest = frames.pop() ?? "";
    for (const frame of frames) yield shownEvent.parse(JSON.parse(frame.replace(/^data: /, "")));
  }
  return undefined;
}
