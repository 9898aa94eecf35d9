// What a run asks its journal for besides steps: to be opened, to be closed, and whether a step is recorded.

import { LoopError } from "../../errors/loop-error.ts";
import { describeValue } from "../../kit/describe-value.ts";
import { JournalCall } from "./journal-call.ts";
import type { Run } from "./run.ts";

/** Lets go of a journal. */
export type CloseJournal = () => void | PromiseLike<void>;

/** Opens the journal where it has to be opened; undefined where not. A journal that is open too late is closed again. */
export function openJournal(run: Run): undefined | CloseJournal | PromiseLike<CloseJournal> {
  const { journal } = run;
  if (journal.open === undefined) return undefined;
  const closeLate = (close: () => PromiseLike<void>): void => void Promise.resolve(close()).catch(() => {});
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
  const { journal } = run;
  if (journal.replays === undefined) return false;
  return new JournalCall(run, "replays", key).take(journal.replays(key), (recorded) => recorded);
}
