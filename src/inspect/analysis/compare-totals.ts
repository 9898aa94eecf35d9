// The totals of two runs, without the iterations that one run has repeated from the other.

import type { LoggedRun } from "../log/run-log.ts";
import { activeMsOf, activeMsUntil, executionsOf, type RunTotals, totalsOf } from "./run-totals.ts";

export type ComparedTotals = RunTotals & { readonly activeMs: number };

export interface TotalsComparison {
  readonly left: ComparedTotals;
  readonly right: ComparedTotals;
  /**
   * The first iteration that counts. A rerun repeats earlier iterations from a log, in almost no time and without nested runs,
   * so both totals leave these out. 0 if no iteration is left out.
   */
  readonly from: number;
}

export function compareTotals(left: LoggedRun, right: LoggedRun): TotalsComparison {
  const from = Math.max(firstNew(left), firstNew(right));
  const isCounted = (run: LoggedRun): boolean => run.iterations.some(({ iteration }) => iteration >= from);
  // Without new iterations on a side, there would be nothing to compare.
  const start = isCounted(left) && isCounted(right) ? from : 0;
  return { left: totalsFrom(left, start), right: totalsFrom(right, start), from: start };
}

/** Returns the number of the first iteration that was not repeated. Infinity if all were. */
function firstNew(run: LoggedRun): number {
  return run.iterations.find(({ isReplayed }) => !isReplayed)?.iteration ?? Infinity;
}

function totalsFrom(run: LoggedRun, from: number): ComparedTotals {
  const iterations = run.iterations.filter(({ iteration }) => iteration >= from);
  const [first] = iterations;
  const before = from === 0 || first === undefined ? 0 : activeMsUntil(executionsOf(run), first.startedAt);
  const compactions = run.compactions.filter(({ iteration }) => iteration >= from);
  return { ...totalsOf({ iterations, compactions }), activeMs: Math.max(0, activeMsOf(run) - before) };
}
