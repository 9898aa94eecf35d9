import { checkFields } from "../core/kit.ts";
import { ChunkBatches, type EventItem, toChunkStream } from "../web/chunk-batches.ts";
import { type NodeResponse, pipeLines, sseChecks, SSELines, type SSEOptions, toLineResponse } from "../web/sse-lines.ts";
import { createUIMessageMapper } from "./create-ui-message-mapper.ts";
import type { UIMessageChunk, UIVersion } from "./ui-message-chunk.ts";
import { messageChecks, type UIMessageOptions } from "./ui-message-options.ts";

/** Options for sending a run to a web page as an HTTP response. */
export interface UIResponseOptions extends UIMessageOptions, SSEOptions {}

/**
 * Converts a run's events, from `streamToolLoop` or `host.join`, to the chunks that `useChat` reads. `events` is read only
 * as fast as the stream is read. If the stream is cancelled, a run from `streamToolLoop` stops, and a host's run continues.
 *
 * The stream never fails. If `events` throws, the last chunks are an `error` with a neutral message and a `finish`. Throws LoopError
 * "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const stream = toUIMessageStream(streamToolLoop({ provider, tools, messages }), { version: 7 });
 */
export function toUIMessageStream<Version extends UIVersion = 6>(
  events: AsyncIterable<EventItem>,
  options: UIMessageOptions & { readonly version?: Version | undefined } = {},
): ReadableStream<UIMessageChunk<Version>> {
  const mapper = createUIMessageMapper(options);
  return toChunkStream(new ChunkBatches(events, mapper)) as ReadableStream<UIMessageChunk<Version>>;
}

/**
 * Returns a web `Response` that streams a run to `useChat`, for Next.js, Hono, Bun, Deno and Workers. If the page disconnects,
 * `events` is no longer read. If `events` is undefined, the status is 204, which `useChat` expects after a reload if no run is live. Throws
 * LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * export const POST = async (request: Request) => {
 *   const { message } = await readUIChatRequest(request);
 *   return toUIMessageStreamResponse(streamToolLoop({ provider, tools, messages: [...history, message] }));
 * };
 */
export function toUIMessageStreamResponse(
  events: AsyncIterable<EventItem> | undefined,
  options: UIResponseOptions = {},
): Response {
  return toLineResponse(toLines(events, options), options);
}

/**
 * Streams a run to `useChat`, like `toUIMessageStreamResponse`, but on a node:http response. Also works with Express and Fastify.
 * Resolves when the response has ended or the page has disconnected. If the page disconnects, `events` is no longer read.
 * `events` is read only as fast as the connection accepts data. Throws LoopError "invalid-option" or "unknown-option" if an option
 * is invalid.
 *
 * @example
 * createServer(async (req, res) => {
 *   const { message } = await readUIChatRequest(req);
 *   await pipeUIMessageStream(streamToolLoop({ provider, tools, messages: [...history, message] }), res);
 * });
 */
export async function pipeUIMessageStream(
  events: AsyncIterable<EventItem> | undefined,
  res: NodeResponse,
  options: UIResponseOptions = {},
): Promise<void> {
  await pipeLines(toLines(events, options), res, options);
}

const writer = {
  write: (chunk: UIMessageChunk) => `data: ${JSON.stringify(chunk)}\n\n`,
  last: "data: [DONE]\n\n",
  headers: { "x-vercel-ai-ui-message-stream": "v1" },
};

function toLines(events: AsyncIterable<EventItem> | undefined, options: UIResponseOptions): SSELines<UIMessageChunk> | undefined {
  checkFields("options", options, { ...messageChecks, ...sseChecks });
  if (events === undefined) return undefined;
  const { headers, keepAliveMs, unreadMs, clock, ...messageOptions } = options;
  const mapper = createUIMessageMapper(messageOptions);
  return new SSELines(new ChunkBatches(events, mapper), writer, { headers, keepAliveMs, unreadMs, clock });
}
