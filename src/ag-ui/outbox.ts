// Collects events, and holds them back as long as their attempt may be discarded.

import type { AGUIEvent } from "./ag-ui-event.ts";

/**
 * An event, and the pages that get it. "recalled" marks a replayed event, which pages with `from: "live"` do not get. "again" marks an
 * event that only pages with `from: "live"` get.
 */
export interface Entry {
  readonly event: AGUIEvent;
  readonly audience: "all" | "recalled" | "again";
}

/** Collects the events of one run, and adds them to the array that all runs share. */
export class Outbox {
  readonly #out: Entry[];
  #held: Entry[] | undefined;
  #holds = 0;

  constructor(out: Entry[]) {
    this.#out = out;
  }

  /** The number of the current hold, counted from 1. Undefined if no events are held back. */
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
    // `push(...held)` would fail for an attempt with more events than the maximum number of arguments.
    for (const entry of held) this.#out.push(entry);
  }

  drop(): void {
    this.#held = undefined;
  }
}
