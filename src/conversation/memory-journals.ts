import { type Journal, memoryJournal } from "../core/index.ts";

/** The journals of runs, in this process's memory. */
export class MemoryJournals {
  readonly #all = new Map<string, Journal>();

  readonly open = (runId: string): Journal => {
    const journal = this.#all.get(runId) ?? memoryJournal();
    this.#all.set(runId, journal);
    return journal;
  };

  readonly remove = (runId: string): void => void this.#all.delete(runId);
}
