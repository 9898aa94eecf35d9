// Implements a journal that only reads records and never writes.

import type { Journal } from "../../types/journal.ts";
import { whenParked } from "../journals.ts";

/** A read-only journal. A step without a record stays pending, and `stuck` resolves when only such steps are left. */
export class ReplayJournal implements Journal {
  readonly durable: boolean;
  readonly stuck: Promise<void>;
  readonly #journal: Journal;
  #reading = 0;
  #isStuck = false;
  #end: () => void = () => {};

  constructor(journal: Journal) {
    this.#journal = journal;
    this.durable = journal.durable === true;
    this.stuck = new Promise((resolve) => (this.#end = resolve));
  }

  async read(key: string): Promise<unknown> {
    this.#reading += 1;
    try {
      return await this.#journal.read(key);
    } finally {
      this.#reading -= 1;
      this.#check();
    }
  }

  async step<T>(key: string): Promise<T> {
    const found = await this.read(key);
    if (found !== undefined) return found as T;
    this.#isStuck = true;
    this.#check();
    return new Promise<never>(() => {});
  }

  get #isReading(): boolean {
    return this.#reading > 0 || (this.#journal instanceof ReplayJournal && this.#journal.#isReading);
  }

  #check(): void {
    if (!this.#isStuck) return;
    whenParked(() => {
      if (!this.#isReading) this.#end();
      else if (this.#reading === 0) this.#check();
    });
  }
}
