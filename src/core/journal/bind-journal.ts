import type { Journal } from "../types/journal.ts";

const optionalMethods = ["open", "has", "replays", "read", "wait", "toJSON"] as const;

/**
 * Returns a journal with the members of `journal`, for a journal that wraps it. The methods are bound, because `journal` may be an
 * instance of a class. A method that `journal` lacks stays absent.
 */
export function bindJournal(journal: Journal): Journal {
  const { durable, ordered } = journal;
  const bound: Journal = { durable, ordered, step: journal.step.bind(journal), all: journal.all.bind(journal) };
  for (const name of optionalMethods) {
    const method: unknown = Reflect.get(journal, name);
    if (typeof method === "function") Reflect.set(bound, name, method.bind(journal));
  }
  return bound;
}
