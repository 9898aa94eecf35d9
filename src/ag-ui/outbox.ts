import type { AGUIAttribution, AGUIEvent } from "./ag-ui-event.ts";
import type { AGUIOptions } from "./ag-ui-options.ts";

/**
 * An AG-UI event, and the pages that get it. Pages with `from: "live"` do not get a "recalled" event, because they already show
 * it. Only pages with `from: "live"` get an "again" event.
 */
export interface Entry {
  readonly event: AGUIEvent;
  readonly audience: "all" | "recalled" | "again";
}

export interface RunPlace {
  /** The prefix of all ids of this run on the page, as returned by `toPrefix`. */
  readonly prefix: string;
  readonly tag: AGUIAttribution;
  readonly options: AGUIOptions;
  readonly out: Entry[];
}

/** Collects the AG-UI events of one run. Can hold events back while a provider may still discard them. */
export class Outbox {
  readonly #out: Entry[];
  #held: Entry[] | undefined;
  #holds = 0;

  constructor(out: Entry[]) {
    this.#out = out;
  }

  /** Identifies the current group of held-back events. Undefined if no events are held back. */
  get holding(): number | undefined {
    return this.#held === undefined ? undefined : this.#holds;
  }

  push(event: AGUIEvent, audience: Entry["audience"]): void {
    (this.#held ?? this.#out).push({ event, audience });
  }

  hold(): void {
    if (this.#held !== undefined) return;
    this.#held = [];
    this.#holds += 1;
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    // `push(...held)` throws if `held` has more entries than a function call can have arguments.
    for (const entry of held) this.#out.push(entry);
  }

  drop(): void {
    this.#held = undefined;
  }
}
