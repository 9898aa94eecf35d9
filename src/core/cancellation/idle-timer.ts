// Timers that are pushed back while something still happens.

import type { Clock } from "../types/common.ts";

/** Rings once when the latest due time has come. Shared by the streams of a run, one after the other. */
export class IdleTimer {
  readonly #clock: Clock;
  #dueAt = Number.POSITIVE_INFINITY;
  #armedFor = Number.POSITIVE_INFINITY;
  #handle: unknown;
  #ring: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Rings at `dueAt` in place of what was set before. `Infinity` never rings. */
  set(dueAt: number, ring: () => void): void {
    this.#dueAt = dueAt;
    this.#ring = ring;
    if (dueAt < this.#armedFor) this.#arm();
  }

  /** Forgets what was set; the timer may stay until `stop`. */
  silence(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** Forgets what was set and releases the timer. */
  stop(): void {
    this.silence();
    if (this.#armedFor === Number.POSITIVE_INFINITY) return;
    this.#clock.clearTimeout(this.#handle);
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    if (this.#armedFor !== Number.POSITIVE_INFINITY) this.#clock.clearTimeout(this.#handle);
    this.#armedFor = this.#dueAt;
    this.#handle = this.#clock.setTimeout(this.#fire, Math.max(1, this.#dueAt - this.#clock.now()));
  }

  readonly #fire = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY;
    if (this.#dueAt === Number.POSITIVE_INFINITY) return;
    if (this.#clock.now() < this.#dueAt) return this.#arm();
    this.silence();
    this.#ring();
  };
}

/** How many items without content may follow each other before the host gets a turn. */
const most = 256;

/** Counts the items without content in a row. A stream of them that never waits would stop every timer of the process. */
export class Lull {
  #count = 0;

  /** A promise of one turn of the host's event loop, once in a while. Undefined if there is nothing to wait for. */
  note(hasContent: boolean): Promise<void> | undefined {
    this.#count = hasContent ? 0 : this.#count + 1;
    if (this.#count < most) return undefined;
    this.#count = 0;
    return new Promise((resolve) => void globalThis.setTimeout(resolve, 0));
  }
}
