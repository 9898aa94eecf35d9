import { checkFields, type Checks, dropPromise, is, type LoopEvent } from "../core/entry-kit.ts";
import {
  ChunkBatches,
  type EventItem,
  type NodeResponse,
  pipeLines,
  sseChecks,
  SSELines,
  type SSEOptions,
  toByteStream,
  toLineResponse,
} from "../core/web-kit.ts";
import { isInternal, toEventJson } from "./event-json.ts";
import type { HostedEvent } from "./hosted-event.ts";

/** A source of events: the stream of `streamToolLoop`, or a reader of a host. */
export type EventSource = AsyncIterable<LoopEvent | HostedEvent> & {
  readonly restarted?: boolean | undefined;
  readonly isOver?: boolean | undefined;
};

/** How events are sent. */
export interface EventStreamOptions extends SSEOptions {
  /**
   * True if the metadata of `toolResult({ metadata })` and the events `hidden-notice` and `listener-error` are sent. They are meant for
   * your listeners. Default false.
   */
  readonly includeMetadata?: boolean | undefined;
}

const checks: Checks<EventStreamOptions> = { includeMetadata: is.flag, ...sseChecks };

/**
 * Turns a run into Server-Sent Events: each has the name of the event, its data as JSON, and an `id` if the source is a reader of a host.
 * An event `reset` comes first if the reader could not continue after its `from`. The page then clears its message. Data that JSON cannot hold,
 * such as a bigint in the progress of a tool, is described. If the source throws, an event `failure` with a neutral text comes last.
 *
 * Cancelling the stream leaves the source, and does nothing else: the run of `streamToolLoop` then stops, that of a host goes on. The
 * source is read as fast as the stream is. Throws LoopError "invalid-option" or "unknown-option".
 *
 * @example
 * const stream = toEventStream(streamToolLoop({ provider, tools, messages }));
 */
export function toEventStream(source: EventSource, options: EventStreamOptions = {}): ReadableStream<Uint8Array> {
  return toByteStream(toLines(source, options));
}

/**
 * Answers a request with the events of a run, as a web `Response`. Without a source, or if the reader has everything already, the answer
 * is 204, at which an `EventSource` stops asking.
 *
 * @example
 * export const GET = (request: Request) => toEventStreamResponse(host.join(id, { from: lastEventId(request) }));
 */
export function toEventStreamResponse(source: EventSource | undefined, options: EventStreamOptions = {}): Response {
  if (source !== undefined && !isEmpty(source)) return toLineResponse(toLines(source, options));
  dropPromise(source?.[Symbol.asyncIterator]().return?.());
  return new Response(null, { status: 204, headers: { ...options.headers } });
}

/**
 * Answers a request with the events of a run, on a response of node:http, which Express and Fastify have too. Works as
 * `toEventStreamResponse`. Resolves when the response has ended, or when the page has left.
 *
 * @example
 * createServer((req, res) => void pipeEventStream(host.join(id, { from: lastEventId(req) }), res));
 */
export async function pipeEventStream(
  source: EventSource | undefined,
  res: NodeResponse,
  options: EventStreamOptions = {},
): Promise<void> {
  const lines = source === undefined ? undefined : toLines(source, options);
  if (lines !== undefined && source !== undefined && !isEmpty(source)) return pipeLines(lines, res);
  lines?.leave();
  if (res.destroyed || res.writableEnded) return;
  res.writeHead(204, { ...options.headers });
  res.end();
}

/** True if there is nothing to send. A reader that restarts still has to be told so. */
function isEmpty({ isOver, restarted }: EventSource): boolean {
  return isOver === true && restarted !== true;
}

/** The error of a source may hold secrets, so a page gets a neutral text. "error" is the name that EventSource uses itself. */
const failure = 'event: failure\ndata: {"message":"The run could not be read to its end."}\n\n';

function toLines(source: EventSource, options: EventStreamOptions): SSELines<string> {
  checkFields("options", options, checks);
  const { includeMetadata = false } = options;
  const map = (item: EventItem): readonly string[] => {
    const event = "type" in item ? item : item.event;
    if (!includeMetadata && isInternal(event)) return [];
    const id = "type" in item ? "" : `id: ${item.id}\n`;
    return [`${id}event: ${event.type}\ndata: ${toEventJson(event, includeMetadata)}\n\n`];
  };
  const end = (error?: object): readonly string[] => (error === undefined ? [] : [failure]);
  const first = source.restarted === true ? "event: reset\ndata: {}\n\n" : undefined;
  return new SSELines(new ChunkBatches(source, { map, end }), { first, write: (text) => text }, options);
}
