// Decides which journals of a conversation are removed.

import { type Check, isRecord } from "../core/kit.ts";
import { isWithin } from "../shared/errors/check-fields.ts";
import type { LoopResult } from "../core/index.ts";

/**
 * How many journals of ended runs are kept in each conversation: those of the newest runs, or those of runs that ended in the last
 * days. `Infinity` keeps all.
 */
export type KeepRuns = number | { readonly days: number };

export const keepRunsCheck: Check = [
  "a whole number of at least 1, Infinity, or an object such as { days: 30 }",
  (value) => {
    if (!isRecord(value)) return isWithin(value, { min: 1 });
    return Object.keys(value).join() === "days" && isWithin(value.days, { min: 0, fraction: true });
  },
];

interface KeptJournal {
  /** The number of the run in its conversation. */
  readonly number: number;
  /** In milliseconds since 1970. Undefined if the journal must be kept. */
  readonly endedAt?: number | undefined;
}

interface Keeping {
  /** The number of the last run, whose journal stays. */
  readonly number: number;
  readonly keepRuns: KeepRuns;
  /** In milliseconds since 1970. */
  readonly now: number;
}

const dayMs = 86_400_000;

/**
 * Removes the journals of earlier runs that are too old. Returns the other journals. A journal that cannot be removed now is removed
 * after a later run.
 */
export async function pruneJournals<Each extends KeptJournal>(
  journals: readonly Each[],
  { number, keepRuns, now }: Keeping,
  remove: (journal: Each) => void | PromiseLike<void>,
): Promise<readonly Each[]> {
  const isExpired = ({ endedAt, number: own }: Each): boolean => {
    if (endedAt === undefined) return false;
    return typeof keepRuns === "number" ? own <= number - keepRuns : endedAt < now - keepRuns.days * dayMs;
  };
  const left = await Promise.all(
    journals.map(async (journal) => {
      if (!isExpired(journal)) return [journal];
      try {
        await remove(journal);
        return [];
      } catch {
        return [journal];
      }
    }),
  );
  return left.flat();
}

export interface EndedFacts {
  readonly result: LoopResult;
  /** True if the run has the option `pricing`. */
  readonly isPriced: boolean;
}

/**
 * True if nothing is lost when the journal of a run is removed: the run has ended, and its cost is known. A suspended run needs its
 * journal to continue.
 */
export function mayRemove({ result: { status, costUSD }, isPriced }: EndedFacts): boolean {
  return status !== "suspended" && (!isPriced || costUSD !== undefined);
}
