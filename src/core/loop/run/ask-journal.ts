// What a run asks its journal for besides steps: to be opened, to be closed, and whether a step is recorded.

import { LoopError } from "../../errors/loop-error.ts";
import { describeValue } from "../../utils/describe-value.ts";
import { dropPromise } from "../../utils/drop-promise.ts";
import { JournalCall } from "./journal-call.ts";
import type { Run } from "./run.ts";

/** Lets go of a journal. */
export type CloseJournal = () => void | PromiseLike<void>;

/** Opens the journal where it has to be opened; undefined where not. A journal that is open too late is closed again. */
export function openJournal(run: Run): undefined | CloseJournal | PromiseLike<CloseJournal> {
  const { journal } = run;
  if (journal.open === undefined) return undefined;
  const closeLate = (close: () => unknown): void => {
    try {
      dropPromise(close());
    } catch {
      // The run is over, so nobody can be told, not even that this is no function.
    }
  };
  const opened: PromiseLike<() => PromiseLike<void>> = journal.open();
  return new JournalCall(run, "open").take(opened, (close) => toClose(run, close), closeLate);
}

function toClose(run: Run, close: () => PromiseLike<void>): CloseJournal {
  const given: unknown = close;
  if (typeof given === "function") return () => new JournalCall(run, "close").take(close(), () => {});
  const expected = "a promise of the function that closes it";
  throw new LoopError("invalid-option", { option: "journal.open()", expected, received: describeValue(given) });
}

/** Whether a journal under which nothing runs has recorded a step. */
export function isReplayed(run: Run, key: string): boolean | PromiseLike<boolean> {
  return askWhether(run, "replays", key);
}

/** Whether a journal has recorded a step; false where it cannot say. */
export function isRecorded(run: Run, key: string): boolean | PromiseLike<boolean> {
  return askWhether(run, "has", key);
}

function askWhether(run: Run, verb: "replays" | "has", key: string): boolean | PromiseLike<boolean> {
  const answer: unknown = run.journal[verb]?.(key) ?? false;
  return new JournalCall(run, verb, key).take(answer, (recorded) => recorded === true);
}
