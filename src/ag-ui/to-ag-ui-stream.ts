import { checkFields, type Checks, is } from "../core/kit.ts";
import { audienceOf } from "../web/page-mapper.ts";
import type { Entry } from "../web/page-run.ts";
import { ChunkBatches, type EventItem, type EventMapper, toChunkStream } from "../web/chunk-batches.ts";
import { type NodeResponse, pipeLines, sseChecks, SSELines, toLineResponse } from "../web/sse-lines.ts";
import { toFailureText } from "../web/page-values.ts";
import type { AGUIDelta, AGUIEvent } from "./ag-ui-event.ts";
import { type AGUIOptions, type AGUIResponseOptions, optionChecks } from "./ag-ui-options.ts";
import { createAGUIMapper, EntryMapper } from "./create-ag-ui-mapper.ts";

/**
 * Converts a run's events, from `streamToolLoop` or `host.join`, to AG-UI events. `events` is read only as fast as the
 * stream is read. If the stream is cancelled, a run from `streamToolLoop` stops, but a host's run continues.
 *
 * The stream never fails. If `events` throws, the last event is `RUN_ERROR` with a neutral message. Throws LoopError "invalid-option" or
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
  return toLineResponse(toLines(events, options), options);
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
  return pipeLines(toLines(events, options), res, options);
}

const checks: Checks<AGUIResponseOptions> = { ...optionChecks, ...sseChecks, after: is.text };

function toLines(events: AsyncIterable<EventItem> | undefined, options: AGUIResponseOptions): SSELines<PlacedEvent> | undefined {
  checkFields("options", options, checks);
  if (events === undefined) return undefined;
  const { headers, keepAliveMs, unreadMs, clock, after, ...mapping } = options;
  const batches = new ChunkBatches(events, new PlacedMapper(mapping, after));
  const write = ({ id, event }: PlacedEvent): string =>
    `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(event)}\n\n`;
  return new SSELines(batches, { write }, { headers, keepAliveMs, unreadMs, clock });
}

interface PlacedEvent {
  readonly id: string | undefined;
  readonly event: AGUIEvent;
}

/**
 * A position in a run: the number of complete events, and the number of characters in the current text. Text fragments are not
 * counted as events, because a slow reader receives several fragments joined into one.
 */
interface Place {
  readonly events: number;
  readonly chars: number;
}

const idPattern = /^(.{1,80})\.(\d{1,9})\.(\d{1,9})$/;

/** Gives each event an id that contains its position in the run. Omits the events that a reconnecting page has already received. */
class PlacedMapper implements EventMapper<PlacedEvent> {
  readonly #mapper: EntryMapper;
  readonly #isSent: (entry: Entry<AGUIEvent>) => boolean;
  readonly #after: string | undefined;
  /**
   * The id of the first event from the source. The `after` of a reconnecting page must contain the same id; otherwise the page is showing
   * events from a different source.
   */
  #source: string | undefined;
  #seen: Place = { events: 0, chars: 0 };
  #at: Place = { events: 0, chars: 0 };
  isOver = false;
  readonly #restarted: PlacedEvent;

  constructor(options: AGUIOptions, after: AGUIResponseOptions["after"]) {
    this.#mapper = new EntryMapper(options);
    this.#isSent = audienceOf(options);
    this.#after = after;
    const error = new Error('The id in "after" belongs to a different event source.');
    const message = toFailureText({ kind: "thrown", error }, options.onError);
    this.#restarted = { id: undefined, event: { type: "RUN_ERROR", message, code: "restarted" } };
  }

  map(item: EventItem): readonly PlacedEvent[] {
    if (this.#source === undefined && !("type" in item)) this.#begin(item.id);
    return this.isOver ? [this.#restarted] : this.#place(this.#mapper.map(item));
  }

  end(failure?: { readonly error: unknown }): readonly PlacedEvent[] {
    return this.#place(this.#mapper.end(failure));
  }

  #begin(source: string): void {
    this.#source = source;
    const [, given, events, chars] = idPattern.exec(this.#after ?? "") ?? [];
    // Ends the stream if the client already shows events from a different source, because those events cannot be taken back.
    this.isOver = this.#after !== undefined && given !== source;
    if (given === source) this.#seen = { events: Number(events), chars: Number(chars) };
  }

  #place(entries: readonly Entry<AGUIEvent>[]): readonly PlacedEvent[] {
    return entries.flatMap((entry) => {
      const rest = this.#restOf(entry.chunk);
      return rest === undefined || !this.#isSent(entry) ? [] : [{ id: this.#toId(), event: rest }];
    });
  }

  #toId(): string | undefined {
    return this.#source === undefined ? undefined : `${this.#source}.${this.#at.events}.${this.#at.chars}`;
  }

  /** Moves the position past the event. Returns the part of the event that the page has not received yet, if any. */
  #restOf(event: AGUIEvent): AGUIEvent | undefined {
    const { events, chars } = this.#at;
    const { events: seen, chars: seenChars } = this.#seen;
    if (!isDelta(event)) {
      this.#at = { events: events + 1, chars: 0 };
      return events < seen ? undefined : event;
    }
    const end = chars + event.delta.length;
    this.#at = { events, chars: end };
    if (events !== seen) return events < seen ? undefined : event;
    if (end <= seenChars) return undefined;
    return chars >= seenChars ? event : { ...event, delta: event.delta.slice(seenChars - chars) };
  }
}

function isDelta(event: AGUIEvent): event is AGUIDelta {
  return "delta" in event;
}
