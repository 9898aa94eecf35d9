// Opens and closes a run's journal. If the journal fails, attaches the partial result to the error.

import type { Journal } from "../../types/journal.ts";
import type { PartialResult } from "../../types/loop-result.ts";
import { CancelScope, endingOfReason } from "../../../shared/cancellation/cancel-scope.ts";
import { Deadline } from "../../../shared/cancellation/deadline.ts";
import { invalidOption, isLoopError, LoopError } from "../../../shared/errors/loop-error.ts";
import { isRecord } from "../../../shared/guards.ts";
import { toPlainError } from "../../../shared/plain-error.ts";
import { summarize } from "../build-result.ts";
import type { Run } from "../run.ts";
import type { GuardedJournal } from "./guarded-journal.ts";
import type { Ending } from "../../types/middleware.ts";

export type Close = () => PromiseLike<void>;

export const liveJournals: WeakSet<Journal> = new WeakSet();

/** Reserves a journal for a single run. */
export function claimJournal(journal: Journal): Journal {
  if (liveJournals.has(journal)) throw new LoopError("already-running", { what: "journal" });
  liveJournals.add(journal);
  return journal;
}

/** Opens the journal. Returns an ending if the run's time limit is reached first. If the journal opens later, it is closed again. */
export async function openJournal(journal: Journal, guard: GuardedJournal): Promise<Close | Ending | undefined> {
  const open = journal.open?.bind(journal);
  if (open === undefined) return undefined;
  const opening = (async (): Promise<Close> => checkClose(await open()))();
  try {
    return await guard.ask({ verb: "open" }, () => opening);
  } catch (error) {
    opening.then((close) => close()).then(undefined, () => {});
    if (!isLoopError(error, "journal-unresponsive") || error.details.ended !== "wall-clock") throw error;
    return endingOfReason({ kind: "wall-clock", limitMs: error.details.ms });
  }
}

/** How long a failed run waits for its journal to close, in milliseconds. */
const closeMs = 500;

export async function closeFailed({ clock }: Run, close: Close): Promise<void> {
  const closing = (async (): Promise<void> => close())();
  await new Deadline({ limitMs: closeMs }, { clock, scope: new CancelScope() }).race(closing);
}

function checkClose(close: unknown): Close {
  if (typeof close === "function") return close as Close;
  throw invalidOption("journal.open()", "a promise that resolves to a function that closes the journal", close);
}

/**
 * Adds the result so far to a journal error. If the thrown value cannot hold the result, the value becomes the cause of LoopError
 * "journal-failed".
 */
export function withPartial(run: Run, guard: GuardedJournal | undefined, error: unknown): unknown {
  const { verb = "step", key } = guard?.broken ?? {};
  if (verb === "open" ? !isLoopError(error) : guard?.engine === true) return error;
  const partial = toPartial(run, guard);
  try {
    if (error instanceof Error && addPartial(error, partial)) return error;
  } catch {
    // Some errors are frozen or otherwise immutable. They are reported without the partial result.
  }
  const failed = { verb: verb === "open" ? "step" : verb, key, problem: toPlainError(error).message } as const;
  return new LoopError("journal-failed", keep(failed, partial), { cause: error });
}

function toPartial(run: Run, guard: GuardedJournal | undefined): PartialResult {
  const { key, answer } = guard?.broken ?? {};
  return { ...summarize(run), unrecorded: key === undefined || answer === undefined ? [] : [{ key, answer }] };
}

/** Adds the partial result to error details. The field is not enumerable, because the transcript may be large and private. */
function keep<Details extends object>(details: Details, partial: PartialResult): Details {
  return Object.defineProperty(details, "partial", { value: partial, configurable: true });
}

function addPartial(error: Error, partial: PartialResult): boolean {
  const details: unknown = Reflect.get(error, "details") ?? {};
  if (!isRecord(details) || !Object.isExtensible(error)) return false;
  keep(details, partial);
  if (!Object.hasOwn(error, "details")) Object.defineProperty(error, "details", { value: details, configurable: true });
  return true;
}
