// Collects events, and holds them back while an attempt may still be discarded.

import type { AGUIEvent } from "./ag-ui-event.ts";

/**
 * An event, and who gets it. "recalled" happened before: a page that goes on with its own messages has it. "again" is sent to such a page
 * only.
 */
export interface Entry {
  readonly event: AGUIEvent;
  readonly audience: "all" | "recalled" | "again";
}

/** The events of one run, on their way to the list that all runs share. */
export class Outbox {
  readonly #out: Entry[];
  #held: Entry[] | undefined;
  #holds = 0;

  constructor(out: Entry[]) {
    this.#out = out;
  }

  /** The number of what is held back now, from 1; undefined if nothing is. */
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

  /** Sends what was held back. */
  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    // Not with a spread: an attempt may have more events than a function takes arguments.
    for (const entry of held) this.#out.push(entry);
  }

  /** Forgets what was held back. */
  drop(): void {
    this.#held = undefined;
  }
}
