// The part of a journal that belongs to one call: the steps of a run inside it, under the call's key.

import type { Journal, Step } from "../../types/journal.ts";
import { LoopError } from "../../errors/loop-error.ts";

/** Where the steps belong. */
export interface JournalPart {
  /** What each key starts with. */
  readonly prefix: string;
  /** Whether the call is over, so that nothing of it runs any more. Default false. */
  readonly isOver?: boolean | undefined;
}

/** A view of a journal in which every key starts with a prefix. */
export function prefixJournal(journal: Journal, { prefix, isOver = false }: JournalPart): Journal {
  const within = <T>(step: Step<T>): Step<T> => ({
    ...step,
    key: prefix + step.key,
    run: (call) => {
      if (isOver) throw new LoopError("journal-incomplete", { key: prefix + step.key });
      return step.run(call);
    },
  });
  const has = journal.has?.bind(journal);
  const replays = isOver ? has : journal.replays?.bind(journal);
  const wait = journal.wait?.bind(journal);
  return {
    ...(has === undefined ? {} : { has: (key: string) => has(prefix + key) }),
    ...(replays === undefined ? {} : { replays: (key: string) => replays(prefix + key) }),
    ...(wait === undefined ? {} : { wait: (key: string) => wait(prefix + key) }),
    durable: journal.durable,
    ordered: journal.ordered,
    step: (step) => journal.step(within(step)),
    all: (steps) => journal.all(steps.map(within)),
  };
}
