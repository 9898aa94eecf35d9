// The places of events in a run, so that a page that comes back gets the rest.

import { type EventItem, type EventMapper, toFailureText } from "../core/web-kit.ts";
import type { AGUIDelta, AGUIEvent } from "./ag-ui-event.ts";
import type { AGUIOptions, AGUIResponseOptions } from "./ag-ui-options.ts";
import { audienceOf, EntryMapper } from "./create-ag-ui-mapper.ts";
import type { Entry } from "./outbox.ts";

/** An event with its id, which is absent if the source has no ids. */
export interface PlacedEvent {
  readonly id: string | undefined;
  readonly event: AGUIEvent;
}

/**
 * Counts events, and in a text its characters. A log gives the fragments that a reader has missed in one piece, so fragments cannot be
 * counted.
 */
interface Place {
  readonly events: number;
  readonly chars: number;
}

const idPattern = /^(.{1,80})\.(\d{1,9})\.(\d{1,9})$/;

/** Maps events, gives them ids, and leaves out what the page has. */
export class PlacedMapper implements EventMapper<PlacedEvent> {
  readonly #mapper: EntryMapper;
  readonly #isSent: (entry: Entry) => boolean;
  readonly #after: string | undefined;
  /** The id of the first event of the source. It tells sources apart. */
  #source: string | undefined;
  #seen: Place = { events: 0, chars: 0 };
  #at: Place = { events: 0, chars: 0 };
  isOver = false;
  readonly #restarted: PlacedEvent;

  constructor(options: AGUIOptions, after: AGUIResponseOptions["after"]) {
    this.#mapper = new EntryMapper(options);
    this.#isSent = audienceOf(options);
    this.#after = after;
    const error = new Error("The page asks for events after one of another source.");
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
    // The page cannot take back what it shows of the other source.
    this.isOver = this.#after !== undefined && given !== source;
    if (given === source) this.#seen = { events: Number(events), chars: Number(chars) };
  }

  #place(entries: readonly Entry[]): readonly PlacedEvent[] {
    return entries.flatMap((entry) => {
      const rest = this.#restOf(entry.event);
      return rest === undefined || !this.#isSent(entry) ? [] : [{ id: this.#toId(), event: rest }];
    });
  }

  #toId(): string | undefined {
    return this.#source === undefined ? undefined : `${this.#source}.${this.#at.events}.${this.#at.chars}`;
  }

  /** Goes to the end of an event, and returns what the page does not have of it. */
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
