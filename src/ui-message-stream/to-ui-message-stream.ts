import { checkFields } from "../core/entry-kit.ts";
import {
  ChunkBatches,
  type EventItem,
  type NodeResponse,
  pipeLines,
  sseChecks,
  SSELines,
  type SSEOptions,
  toChunkStream,
  toLineResponse,
} from "../core/web-kit.ts";
import { createUIMessageMapper } from "./create-ui-message-mapper.ts";
import type { UIMessageChunk } from "./ui-message-chunk.ts";
import { messageChecks, type UIMessageOptions } from "./ui-message-options.ts";

/** How a run is sent to a page. */
export interface UIResponseOptions extends UIMessageOptions, SSEOptions {}

/**
 * Turns the events of a run into the chunks that `useChat` reads. `events` comes from `streamToolLoop` or from `host.join`. The
 * source is read as fast as the stream is. Cancelling the stream returns the iterator of the source, and does nothing else: the run
 * of `streamToolLoop` then stops, that of a host goes on.
 *
 * The stream never fails. If the source throws, an `error` chunk with a neutral text is the last but one. Throws LoopError
 * "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const stream = toUIMessageStream(streamToolLoop({ provider, tools, messages }), { version: 7 });
 */
export function toUIMessageStream(
  events: AsyncIterable<EventItem>,
  options: UIMessageOptions = {},
): ReadableStream<UIMessageChunk> {
  const mapper = createUIMessageMapper(options);
  return toChunkStream(new ChunkBatches(events, mapper));
}

/**
 * Answers a request of `useChat` with a run, as a web `Response`: for Next.js, Hono, Bun, Deno and Workers. If the page leaves, the
 * iterator of the source is returned. Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * export const POST = async (request: Request) => {
 *   const { message } = await readUIChatRequest(request);
 *   return toUIMessageStreamResponse(streamToolLoop({ provider, tools, messages: [...history, message] }));
 * };
 */
export function toUIMessageStreamResponse(events: AsyncIterable<EventItem>, options: UIResponseOptions = {}): Response {
  return toLineResponse(toLines(events, options));
}

/**
 * Answers a request of `useChat` with a run, on a response of node:http, which Express and Fastify have too. Resolves when the
 * response has ended, or when the page has left; the iterator of the source is returned then. A slow connection slows the reading.
 * Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * createServer(async (req, res) => {
 *   const { message } = await readUIChatRequest(req);
 *   await pipeUIMessageStream(streamToolLoop({ provider, tools, messages: [...history, message] }), res);
 * });
 */
export async function pipeUIMessageStream(
  events: AsyncIterable<EventItem>,
  res: NodeResponse,
  options: UIResponseOptions = {},
): Promise<void> {
  await pipeLines(toLines(events, options), res);
}

const writer = {
  write: (chunk: UIMessageChunk) => `data: ${JSON.stringify(chunk)}\n\n`,
  last: "data: [DONE]\n\n",
  headers: { "cache-control": "no-cache", "x-vercel-ai-ui-message-stream": "v1" },
};

function toLines(events: AsyncIterable<EventItem>, options: UIResponseOptions): SSELines<UIMessageChunk> {
  checkFields("options", options, { ...messageChecks, ...sseChecks });
  const { headers, keepAliveMs, clock, ...messageOptions } = options;
  const mapper = createUIMessageMapper(messageOptions);
  return new SSELines(new ChunkBatches(events, mapper), writer, { headers, keepAliveMs, clock });
}
