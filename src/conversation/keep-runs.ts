// Decides which of a conversation's journals to remove.

import { type Check, isRecord } from "../core/kit.ts";
import { isWithin } from "../shared/errors/check-fields.ts";
import type { LoopResult } from "../core/index.ts";
import type { ConversationState, StoredJournal } from "./conversation-store.ts";

/**
 * How many journals of ended runs each conversation keeps: those of the newest runs, or of all runs that ended within the last `days` days.
 * `Infinity` keeps all.
 */
export type KeepRuns = number | { readonly days: number };

export const keepRunsCheck: Check = [
  "a whole number of at least 1, Infinity, or an object such as { days: 30 }",
  (value) => {
    if (!isRecord(value)) return isWithin(value, { min: 1 });
    return Object.keys(value).join() === "days" && isWithin(value.days, { min: 0, fraction: true });
  },
];

const dayMs = 86_400_000;

interface EndedFacts {
  readonly result: Pick<LoopResult, "status" | "costUSD">;
  /** True if the run has the `pricing` option. */
  readonly isPriced: boolean;
}

interface Keeping {
  readonly keepRuns: KeepRuns;
  /** Removes a journal. Undefined if all journals are kept. */
  readonly remove: ((runId: string) => void | PromiseLike<void>) | undefined;
}

/**
 * Removes the journals of earlier runs that are too old. Returns the remaining journals, including that of the run that has just
 * ended. A failed removal is tried again after a later run.
 */
export async function pruneJournals(
  { runs, journals: listed }: ConversationState,
  ended: EndedFacts & { readonly result: Pick<LoopResult, "runId"> },
  { keepRuns, remove }: Keeping,
): Promise<readonly StoredJournal[] | undefined> {
  // Keeps the list, because another object, such as a run host, may have to remove the listed journals.
  if (remove === undefined) return listed;
  const now = Date.now();
  const left = await Promise.all(
    (listed ?? [])
      .filter(({ number }) => number !== runs)
      .map(async (journal) => {
        if (!isExpired(journal, { runs, keepRuns, now })) return [journal];
        try {
          await remove(journal.runId);
          return [];
        } catch {
          return [journal];
        }
      }),
  );
  return [...left.flat(), { runId: ended.result.runId, number: runs, ...(mayRemove(ended) && { endedAt: now }) }];
}

/**
 * True if nothing is lost when a run's journal is removed: the run has ended, and its cost is known. A suspended run needs its
 * journal to continue.
 */
export function mayRemove({ result: { status, costUSD }, isPriced }: EndedFacts): boolean {
  return status !== "suspended" && (!isPriced || costUSD !== undefined);
}

interface Age {
  /** The number of the last run. */
  readonly runs: number;
  readonly keepRuns: KeepRuns;
  /** The current time, in milliseconds since 1970. */
  readonly now: number;
}

/** True if `keepRuns` no longer keeps the journal of an ended run. The last run is always kept. */
export function isExpired({ endedAt, number }: Pick<StoredJournal, "endedAt" | "number">, { runs, keepRuns, now }: Age): boolean {
  if (endedAt === undefined || number >= runs) return false;
  return typeof keepRuns === "number" ? number <= runs - keepRuns : endedAt < now - keepRuns.days * dayMs;
}
