import type { Journal } from "../../core/entry-kit.ts";

/** Makes a journal that only reads the records of a durable run, for `inspectJournal`. */
export function createReadOnlyJournal(read: () => Promise<ReadonlyMap<string, unknown>>): Journal {
  const refuse = (): never => {
    throw new Error("This journal can only be read. Pass it to inspectJournal().");
  };
  return { durable: true, step: refuse, all: refuse, read };
}
