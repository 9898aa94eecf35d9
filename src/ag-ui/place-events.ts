// The id of each event is its position in the run. A reconnecting page sends its last id, and gets only later events.

import { type EventItem, type EventMapper, toFailureText } from "../core/web-kit.ts";
import type { AGUIDelta, AGUIEvent } from "./ag-ui-event.ts";
import type { AGUIOptions, AGUIResponseOptions } from "./ag-ui-options.ts";
import { audienceOf, EntryMapper } from "./create-ag-ui-mapper.ts";
import type { Entry } from "./outbox.ts";

export interface PlacedEvent {
  readonly id: string | undefined;
  readonly event: AGUIEvent;
}

/**
 * A position in a run: the number of complete events, and the number of characters in the current text. Text fragments are not
 * counted, because a slow reader gets several fragments joined into one.
 */
interface Place {
  readonly events: number;
  readonly chars: number;
}

const idPattern = /^(.{1,80})\.(\d{1,9})\.(\d{1,9})$/;

/** Maps events, adds ids, and omits the events that the page already has. */
export class PlacedMapper implements EventMapper<PlacedEvent> {
  readonly #mapper: EntryMapper;
  readonly #isSent: (entry: Entry) => boolean;
  readonly #after: string | undefined;
  /** The id of the first event. A different first id means that the events come from another source. */
  #source: string | undefined;
  #seen: Place = { events: 0, chars: 0 };
  #at: Place = { events: 0, chars: 0 };
  isOver = false;
  readonly #restarted: PlacedEvent;

  constructor(options: AGUIOptions, after: AGUIResponseOptions["after"]) {
    this.#mapper = new EntryMapper(options);
    this.#isSent = audienceOf(options);
    this.#after = after;
    const error = new Error("The id in `after` belongs to another source of events.");
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
    // The page cannot remove the events that it already shows. If these come from another source, the stream must end.
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
