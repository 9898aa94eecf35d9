// Connects two real SDKs to a slow service that writes only as fast as its client reads. Both sides count bytes.

import Anthropic from "@anthropic-ai/sdk";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setImmediate } from "node:timers/promises";
import OpenAI from "openai";
import type { Provider } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { openaiChat } from "turnwright/openai";
import { event, start, stop } from "../wire/anthropic-frames.ts";
import { checkMessagesContract } from "../wire/messages-contract.ts";
import { done, sse } from "../wire/raw-sse-server.ts";
import { readBody, serve } from "../wire/serve.ts";
import { checkWireContract } from "../wire/wire-contract.ts";

/** The API of one provider. For each complete text, the service reports 3 input tokens and 2 output tokens. */
export interface TextWire {
  readonly name: string;
  toFrames(pieces: readonly string[]): readonly string[];
  connect(url: string, fetch: typeof globalThis.fetch): Provider;
  check(body: unknown): readonly string[];
}

const delta = (fields: object, rest: object = {}): string => sse({ choices: [{ index: 0, delta: fields, ...rest }] });
const usage = sse({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 } });

export const textWires: readonly TextWire[] = [
  {
    name: "openai",
    toFrames: (pieces) => [...pieces.map((content) => delta({ content })), delta({}, { finish_reason: "stop" }) + usage + done],
    connect: (url, fetch) =>
      openaiChat({
        client: new OpenAI({ baseURL: `${url}/v1`, apiKey: "test", maxRetries: 0, logLevel: "off", fetch }),
        model: "m",
      }),
    check: checkWireContract,
  },
  {
    name: "anthropic",
    toFrames: (pieces) => [
      start() + event({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
      ...pieces.map((text) => event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text } })),
      event({ type: "content_block_stop", index: 0 }) + stop("end_turn"),
    ],
    connect: (url, fetch) =>
      anthropicMessages({
        client: new Anthropic({ baseURL: url, apiKey: "test", maxRetries: 0, logLevel: "off", fetch }),
        model: "m",
      }),
    check: checkMessagesContract,
  },
];

export interface Sending {
  readonly size: number;
  /** The number of bytes that the server had sent when the response ended or its connection closed. */
  readonly left: number;
  readonly isWhole: boolean;
}

export interface SlowService {
  readonly url: string;
  readonly bodies: readonly unknown[];
  /** Resolves when the response with this index has ended, or when the client has abandoned it. */
  sent(index: number): Promise<Sending>;
  close(): Promise<void>;
}

/**
 * Responds to the n-th request with the n-th reply. Writes a frame only after the client has accepted the previous frame and has
 * had time to read it.
 */
export async function startSlowService(replies: readonly (readonly string[])[]): Promise<SlowService> {
  const bodies: unknown[] = [];
  const settle: ((sending: Sending) => void)[] = [];
  const sendings = replies.map(() => new Promise<Sending>((resolve) => settle.push(resolve)));
  const server = createServer((request, response) => void answer(request, response));

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const index = bodies.length;
    const frames = replies[index] ?? [];
    bodies.push(await readBody(request));
    const { socket } = request;
    const before = socket.bytesWritten;
    const closed = once(response, "close").then(() => {
      const size = frames.reduce((sum, frame) => sum + Buffer.byteLength(frame), 0);
      settle[index]?.({ size, left: socket.bytesWritten - before, isWhole: response.writableFinished });
    });
    response.writeHead(replies[index] === undefined ? 500 : 200, { "content-type": "text/event-stream" });
    for (const frame of frames) {
      await Promise.race([closed, new Promise<void>((resolve) => response.write(frame, () => resolve()))]);
      await setImmediate();
      if (response.destroyed) return;
    }
    response.end();
  }

  const { url, close } = await serve(server);
  return {
    url,
    bodies,
    sent: (index) => sendings[index] ?? Promise.reject(new Error(`There is no reply ${index}.`)),
    close,
  };
}

export interface CountingFetch {
  readonly fetch: typeof globalThis.fetch;
  /** For each response, the number of bytes that the SDK has read. */
  readonly read: readonly number[];
}

/** This `fetch` counts bytes. It reads only as much of a response as its caller requests. */
export function createCountingFetch(): CountingFetch {
  const read: number[] = [];
  return {
    read,
    async fetch(input, init) {
      const index = read.push(0) - 1;
      const response = await globalThis.fetch(input, init);
      if (response.body === null) return response;
      const reader = response.body.getReader();
      const body = new ReadableStream<Uint8Array>(
        {
          async pull(controller) {
            const { done: isOver, value } = await reader.read();
            if (isOver) return controller.close();
            read[index] = (read[index] ?? 0) + value.length;
            controller.enqueue(value);
          },
          cancel: (reason) => reader.cancel(reason),
        },
        { highWaterMark: 0 },
      );
      return new Response(body, response);
    },
  };
}
