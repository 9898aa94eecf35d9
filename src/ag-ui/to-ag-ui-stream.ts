import { type Checks, checkFields, is } from "../core/entry-kit.ts";
import {
  ChunkBatches,
  type EventItem,
  type NodeResponse,
  pipeLines,
  sseChecks,
  SSELines,
  toChunkStream,
  toLineResponse,
} from "../core/web-kit.ts";
import type { AGUIEvent } from "./ag-ui-event.ts";
import { type AGUIOptions, type AGUIResponseOptions, optionChecks } from "./ag-ui-options.ts";
import { createAGUIMapper } from "./create-ag-ui-mapper.ts";
import { type PlacedEvent, PlacedMapper } from "./place-events.ts";

/**
 * Turns the events of a run into events of AG-UI. `events` comes from `streamToolLoop` or from `host.join`. The source is read as fast as
 * the stream is. Cancelling the stream returns the iterator of the source, and does nothing else: the run of `streamToolLoop` then stops,
 * that of a host goes on.
 *
 * The stream never fails. If the source throws, the last event is `RUN_ERROR` with a neutral text. Throws LoopError "invalid-option" or
 * "unknown-option" if an option is invalid.
 *
 * @example
 * const stream = toAGUIStream(streamToolLoop({ provider, tools, messages }), { threadId, runId });
 */
export function toAGUIStream(events: AsyncIterable<EventItem>, options: AGUIOptions = {}): ReadableStream<AGUIEvent> {
  const mapper = createAGUIMapper(options);
  return toChunkStream(new ChunkBatches(events, mapper));
}

/**
 * Answers a request of an AG-UI client with a run, as a web `Response` with Server-Sent Events. If the source is a reader of a host, each
 * event has an id, for `after`. If the page leaves, the iterator of the source is returned. Without a source the answer is 204. Throws
 * LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * export const POST = async (request: Request) => {
 *   const { threadId, runId, message } = await readAGUIRequest(request);
 *   return toAGUIResponse(streamToolLoop({ provider, tools, messages: [...history, message] }), { threadId, runId });
 * };
 */
export function toAGUIResponse(events: AsyncIterable<EventItem> | undefined, options: AGUIResponseOptions = {}): Response {
  if (events === undefined) return new Response(null, { status: 204, headers: { ...options.headers } });
  return toLineResponse(toLines(events, options));
}

/**
 * Answers a request of an AG-UI client with a run, on a response of node:http, which Express and Fastify have too. Works as
 * `toAGUIResponse`. Resolves when the response has ended, or when the page has left.
 *
 * @example
 * createServer(async (req, res) => {
 *   const { threadId, runId, message } = await readAGUIRequest(req);
 *   await pipeAGUIStream(streamToolLoop({ provider, tools, messages: [...history, message] }), res, { threadId, runId });
 * });
 */
export async function pipeAGUIStream(
  events: AsyncIterable<EventItem> | undefined,
  res: NodeResponse,
  options: AGUIResponseOptions = {},
): Promise<void> {
  if (events !== undefined) return pipeLines(toLines(events, options), res);
  if (res.destroyed || res.writableEnded) return;
  res.writeHead(204, { ...options.headers });
  res.end();
}

const checks: Checks<AGUIResponseOptions> = { ...optionChecks, ...sseChecks, after: is.text };

function toLines(events: AsyncIterable<EventItem>, options: AGUIResponseOptions): SSELines<PlacedEvent> {
  checkFields("options", options, checks);
  const { headers, keepAliveMs, clock, after, ...mapping } = options;
  const batches = new ChunkBatches(events, new PlacedMapper(mapping, after));
  const write = ({ id, event }: PlacedEvent): string =>
    `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;
  return new SSELines(batches, { write }, { headers, keepAliveMs, clock });
}
