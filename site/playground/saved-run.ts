// What outlives a reload of the page: the program, and the journal of its last run. Both stay in the localStorage of this browser.

import { type Journal, memoryJournal } from "turnwright";

type SavedJournal = NonNullable<Parameters<typeof memoryJournal>[0]>;

export interface SavedRun {
  readonly runId: string;
  readonly journal: SavedJournal;
}

const programKey = "turnwright-program";
const runKey = "turnwright-run";

export function readProgram(): string | undefined {
  return localStorage.getItem(programKey) ?? undefined;
}

export function saveProgram(program: string): void {
  localStorage.setItem(programKey, program);
}

export function readSavedRun(): SavedRun | undefined {
  const saved = localStorage.getItem(runKey);
  return saved === null ? undefined : (JSON.parse(saved) as SavedRun);
}

export function forgetRun(): void {
  localStorage.removeItem(runKey);
}

/** Returns a journal that saves each step before the loop goes on. */
export function savingJournal({ runId, journal: saved }: SavedRun): Journal {
  const inner = memoryJournal(saved);
  const save = (): void => localStorage.setItem(runKey, JSON.stringify({ runId, journal: inner }));
  return {
    durable: true,
    read: (key) => inner.read(key),
    keys: () => inner.keys(),
    async step(key, body) {
      const isNew = inner.read(key) === undefined;
      const value = await inner.step(key, body);
      if (isNew) save();
      return value;
    },
  };
}
