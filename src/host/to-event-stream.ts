import { checkFields, type Checks, is, isRecord } from "../core/kit.ts";
import { describeValue } from "../shared/texts.ts";
import { rowOf } from "../shared/event-table.ts";
import { dropIterator } from "../shared/promises.ts";
import type { LoopEvent } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { ChunkBatches, type EventItem } from "../web/chunk-batches.ts";
import {
  type NodeResponse,
  pipeLines,
  sseChecks,
  SSELines,
  type SSEOptions,
  toByteStream,
  toLineResponse,
} from "../web/sse-lines.ts";
import type { HostedEvent } from "./run-host.ts";

/** A source of events: the stream of `streamToolLoop`, or a reader from `host.join`. */
export type EventSource = AsyncIterable<LoopEvent | HostedEvent> & {
  readonly restarted?: boolean | undefined;
  readonly isOver?: boolean | undefined;
};

/** The options for sending events as Server-Sent Events. */
export interface EventStreamOptions extends SSEOptions {
  /**
   * True to also send the metadata from `toolResult({ metadata })`, the messages of errors, and the events `cache-break`,
   * `hidden-notice`, `listener-error` and `request-adjusted`, which are meant for your logs and not for users. Default false.
   */
  readonly includeMetadata?: boolean | undefined;
}

const checks: Checks<EventStreamOptions> = { includeMetadata: is.flag, ...sseChecks };

/**
 * Converts a run's events to Server-Sent Events. Each Server-Sent Event has the event type as its name and the event as JSON data. Bigints
 * and other values that JSON cannot represent are replaced with descriptions. If the source is a reader from a host, each event has an
 * `id`. If that reader has `restarted: true`, the first event is `reset`, and a web page must then clear its message. If the source throws,
 * the last event is `failure`, with a neutral message.
 *
 * The source is read only as fast as the stream is read. If the stream is canceled, a run from `streamToolLoop` stops, and a host's
 * run continues. Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const stream = toEventStream(streamToolLoop({ provider, tools, messages }));
 */
export function toEventStream(source: EventSource, options: EventStreamOptions = {}): ReadableStream<Uint8Array> {
  return toByteStream(toLines(source, options));
}

/**
 * Returns a web `Response` with a run's events. If the source is undefined or has no more events, the status is 204, which tells an
 * `EventSource` not to reconnect.
 *
 * @example
 * export const GET = (request: Request) => toEventStreamResponse(host.join(id, { from: lastEventId(request) }));
 */
export function toEventStreamResponse(source: EventSource | undefined, options: EventStreamOptions = {}): Response {
  return toLineResponse(linesOf(source, options), options);
}

/**
 * Sends a run's events, like `toEventStreamResponse`, but on a node:http response. Also works with Express and Fastify.
 * Resolves when the response has ended or the client has disconnected.
 *
 * @example
 * createServer((req, res) => void pipeEventStream(host.join(id, { from: lastEventId(req) }), res));
 */
export async function pipeEventStream(
  source: EventSource | undefined,
  res: NodeResponse,
  options: EventStreamOptions = {},
): Promise<void> {
  return pipeLines(linesOf(source, options), res, options);
}

/** Converts a source to the lines to send, or returns undefined if the source has nothing to send. */
function linesOf(source: EventSource | undefined, options: EventStreamOptions): SSELines<string> | undefined {
  checkFields("options", options, checks);
  if (source !== undefined && !isEmpty(source)) return toLines(source, options);
  dropIterator(source?.[Symbol.asyncIterator]());
  return undefined;
}

/** True if the source has nothing to send. A source with `restarted: true` must still send the `reset` event. */
function isEmpty({ isOver, restarted }: EventSource): boolean {
  return isOver === true && restarted !== true;
}

/**
 * The event that is sent if the source throws. The message is neutral, because the error may contain secrets. The event is not named
 * "error", because `EventSource` uses "error" for connection errors.
 */
const failure = 'event: failure\ndata: {"message":"The run could not be read to its end."}\n\n';

function toLines(source: EventSource, options: EventStreamOptions): SSELines<string> {
  checkFields("options", options, checks);
  const { includeMetadata = false } = options;
  const map = (item: EventItem): readonly string[] => {
    const event = "type" in item ? item : item.event;
    if (!includeMetadata && rowOf(event).isInternal === true) return [];
    const id = "type" in item ? "" : `id: ${item.id}\n`;
    return [`${id}event: ${event.type}\ndata: ${toEventJson(event, includeMetadata)}\n\n`];
  };
  const end = (error?: object): readonly string[] => (error === undefined ? [] : [failure]);
  const first = source.restarted === true ? "event: reset\ndata: {}\n\n" : undefined;
  return new SSELines(new ChunkBatches(source, { map, end }), { first, write: (text) => text }, options);
}

/**
 * Converts an event to JSON. Never throws, even if a tool put values into the event that JSON cannot represent. Unless
 * `includeMetadata` is true, omits the metadata of tool results and the messages of errors, which may contain secrets.
 */
function toEventJson(event: LoopEvent, includeMetadata: boolean): string {
  const sent = includeMetadata ? event : withoutInternals(event);
  return stringify(sent) ?? stringify(Object.fromEntries(Object.entries(sent).map(describeField))) ?? "{}";
}

function withoutInternals(event: LoopEvent): object {
  const { metadata: _, ...rest }: UnknownRecord = { ...event };
  const { error, reason } = rest;
  return {
    ...rest,
    // The result of a call that did not complete is the message of an error.
    ...(event.type === "tool-end" && event.outcome !== "completed" && { result: null }),
    ...(isRecord(error) && { error: withoutMessage(error) }),
    ...(isRecord(reason) && isRecord(reason["error"]) && { reason: { ...reason, error: withoutMessage(reason["error"]) } }),
  };
}

/** Keeps only the safe fields of an error, such as its code, because its message may contain secrets. */
function withoutMessage({ name, code, status, retryable, retryAfterMs }: UnknownRecord): object {
  return { name, code, status, retryable, retryAfterMs };
}

/** Describes a value that JSON cannot represent: a cycle, a bigint, or an object whose `toJSON` throws. Keeps all other values. */
function describeField([name, value]: [string, unknown]): [string, unknown] {
  return stringify(value) === undefined && value !== undefined ? [name, `(not sent: ${describeValue(value)})`] : [name, value];
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}

/** A web `Request` or an `IncomingMessage` of node:http. */
export interface EventRequest {
  readonly url?: string | undefined;
  readonly headers: { get(name: string): string | null } | { readonly [name: string]: string | readonly string[] | undefined };
}

const maxIdLength = 100;

/**
 * Returns the id of the last event that a reconnecting web page has received, for the `from` option of `host.join`. Reads the
 * `Last-Event-ID` header, which an `EventSource` sends. Without this header, reads the URL's `offset` query parameter. Returns undefined if
 * the request has no id, an id of more than 100 characters, or the id `-1`, which requests all events.
 *
 * @example const events = host.join(id, { from: lastEventId(request) });
 */
export function lastEventId({ headers, url = "" }: EventRequest): string | undefined {
  const given = typeof headers.get === "function" ? headers.get("last-event-id") : readHeader(headers, "last-event-id");
  const id = given === undefined || given === null || given === "" ? readOffset(url) : given;
  return typeof id !== "string" || id === "" || id === "-1" || id.length > maxIdLength ? undefined : id;
}

function readHeader(headers: object, name: string): unknown {
  return Object.hasOwn(headers, name) ? Reflect.get(headers, name) : undefined;
}

function readOffset(url: string): string | null {
  const start = url.indexOf("?");
  return start < 0 ? null : new URLSearchParams(url.slice(start).split("#")[0]).get("offset");
}
