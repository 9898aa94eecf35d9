// The amounts that a run has spent over time, beside its limits.

import type { LoggedCompaction, LoggedIteration, LoggedRun } from "../log/run-log.ts";
import { activeMsUntil, addTotals, executionsOf, noTotals, spendingOf, totalsOfIteration } from "./run-totals.ts";

export const budgetNames = ["tokens", "costUSD", "iterations", "toolCalls", "activeMs"] as const;

export type BudgetName = (typeof budgetNames)[number];

/**
 * The amounts that a run has spent at the end of an iteration or of a compaction, including nested runs. A cost is undefined until
 * one is known.
 */
export type BudgetPoint = { readonly [Name in BudgetName]: number | undefined } & {
  /** "Iteration 3", or "Compaction 3" before it. */
  readonly label: string;
  readonly activeMs: number;
};

export interface BudgetSeries {
  readonly points: readonly BudgetPoint[];
  /** The limits that the caller set. */
  readonly limits: { readonly [Name in BudgetName]?: number | undefined };
}

const limitNames: { readonly [Name in BudgetName]: string } = {
  tokens: "maxTokens",
  costUSD: "maxCostUSD",
  iterations: "maxIterations",
  toolCalls: "maxToolCalls",
  activeMs: "wallClockMs",
};

/** Returns the amounts at the end of each iteration and compaction of a run. Those without an end have no point. */
export function budgetSeriesOf(run: LoggedRun): BudgetSeries {
  const executions = executionsOf(run);
  const seen = new Set<number>();
  let totals = noTotals;
  const points = stepsOf(run).flatMap((step): BudgetPoint[] => {
    const isStream = "calls" in step;
    totals = addTotals(totals, isStream ? totalsOfIteration(step) : spendingOf(step));
    if (step.endedAt === undefined) return [];
    if (isStream) seen.add(step.iteration);
    const label = isStream ? `Iteration ${step.iteration}` : `Compaction ${step.iteration}`;
    const { tokens, costUSD, calls } = totals;
    const activeMs = activeMsUntil(executions, step.endedAt);
    return [{ label, tokens, costUSD, iterations: seen.size, toolCalls: calls, activeMs }];
  });
  const limits = budgetNames.flatMap((name) => {
    const limit = run.limits[limitNames[name]];
    return typeof limit === "number" && limit > 0 ? [[name, limit] as const] : [];
  });
  return { points, limits: Object.fromEntries(limits) };
}

/** Returns the streams and compactions of a run in the order in which they began. A compaction comes before its iteration. */
export function stepsOf({ iterations, compactions }: LoggedRun): readonly (LoggedIteration | LoggedCompaction)[] {
  return [...compactions, ...iterations].toSorted(
    (one, other) => one.startedAt - other.startedAt || one.iteration - other.iteration,
  );
}
