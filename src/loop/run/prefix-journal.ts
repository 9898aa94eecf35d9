// The part of a journal that belongs to one call: the steps of a run inside it, under the call's key.

import type { Journal, Step } from "../../contract/journal.ts";
import { whenReady } from "../../kit/when-ready.ts";

/** Where the steps belong. */
export interface JournalPart {
  /** What each key starts with. */
  readonly prefix: string;
  /** What broke the run around: then nothing more is recorded, for what comes now says how that run broke, not how this one went. */
  failureOf(): { readonly error: unknown } | undefined;
}

/** A view of a journal in which every key starts with a prefix. */
export function prefixJournal(journal: Journal, { prefix, failureOf }: JournalPart): Journal {
  const within = <T>(step: Step<T>): Step<T> => ({
    ...step,
    key: prefix + step.key,
    run: (call) =>
      whenReady(step.run(call), (answer) => {
        const failure = failureOf();
        if (failure !== undefined) throw failure.error;
        return answer;
      }),
  });
  const replays = journal.replays?.bind(journal);
  const wait = journal.wait?.bind(journal);
  return {
    ...(replays === undefined ? {} : { replays: (key: string) => replays(prefix + key) }),
    ...(wait === undefined ? {} : { wait: (key: string) => wait(prefix + key) }),
    durable: journal.durable,
    ordered: journal.ordered,
    step: (step) => journal.step(within(step)),
    all: (steps) => journal.all(steps.map(within)),
  };
}
