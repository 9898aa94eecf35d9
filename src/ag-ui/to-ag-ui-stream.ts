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
 * Converts the events of a run, from `streamToolLoop` or `host.join`, to AG-UI events. `events` is read only as fast as the
 * stream is read. If the stream is cancelled, a run of `streamToolLoop` stops, and a run of a host continues.
 *
 * The stream never fails. If `events` throws, the last event is `RUN_ERROR` with a neutral text. Throws LoopError
 * "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const stream = toAGUIStream(streamToolLoop({ provider, tools, messages }), { threadId, runId });
 */
export function toAGUIStream(events: AsyncIterable<EventItem>, options: AGUIOptions = {}): ReadableStream<AGUIEvent> {
  const mapper = createAGUIMapper(options);
  return toChunkStream(new ChunkBatches(events, mapper));
}

/**
 * Returns a web `Response` that streams a run to an AG-UI client as Server-Sent Events. If `events` is a reader from a host, each
 * event has an id. A reconnecting page sends the last id that it received; pass this id as `after`. If the page disconnects,
 * `events` is no longer read. If `events` is undefined, the status is 204. Throws LoopError "invalid-option" or "unknown-option"
 * if an option is invalid.
 *
 * @example
 * export const POST = async (request: Request) => {
 *   const { threadId, runId, message } = await readAGUIRequest(request);
 *   return toAGUIResponse(streamToolLoop({ provider, tools, messages: [...history, message] }), { threadId, runId });
 * };
 */
export function toAGUIResponse(events: AsyncIterable<EventItem> | undefined, options: AGUIResponseOptions = {}): Response {
  checkFields("options", options, checks);
  if (events === undefined) return new Response(null, { status: 204, headers: { ...options.headers } });
  return toLineResponse(toLines(events, options));
}

/**
 * Streams a run to an AG-UI client, like `toAGUIResponse`, but on a node:http response. Also works with Express and Fastify.
 * Resolves when the response has ended or the page has disconnected.
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
  checkFields("options", options, checks);
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
