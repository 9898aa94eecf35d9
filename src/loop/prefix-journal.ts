// The part of a journal that belongs to one call: the steps of a run inside it, under the call's key.

import type { Journal, Step } from "../contract/journal.ts";

/** A view of a journal in which every key starts with `prefix`. */
export function prefixJournal(journal: Journal, prefix: string): Journal {
  const within = <T>(step: Step<T>): Step<T> => ({ ...step, key: prefix + step.key });
  return {
    durable: journal.durable,
    ordered: journal.ordered,
    step: (step) => journal.step(within(step)),
    all: (steps) => journal.all(steps.map(within)),
  };
}
