// The amounts that a run has spent over time, beside its limits.

import type { LoggedRun } from "../log/run-log.ts";
import { activeMsUntil, addTotals, executionsOf, noTotals, totalsOfIteration } from "./run-totals.ts";

export const budgetNames = ["tokens", "costUSD", "iterations", "toolCalls", "activeMs"] as const;

export type BudgetName = (typeof budgetNames)[number];

/** The amounts that a run has spent at the end of an iteration, including nested runs. A cost is undefined until one is known. */
export type BudgetPoint = { readonly [Name in BudgetName]: number | undefined } & {
  readonly iteration: number;
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

/** Returns the amounts at the end of each iteration of a run. An iteration without an end has no point. */
export function budgetSeriesOf(run: LoggedRun): BudgetSeries {
  const executions = executionsOf(run);
  const seen = new Set<number>();
  let totals = noTotals;
  const points = run.iterations.flatMap((iteration): BudgetPoint[] => {
    totals = addTotals(totals, totalsOfIteration(iteration));
    if (iteration.endedAt === undefined) return [];
    seen.add(iteration.iteration);
    const { tokens, costUSD, calls } = totals;
    const activeMs = activeMsUntil(executions, iteration.endedAt);
    return [{ iteration: iteration.iteration, tokens, costUSD, iterations: seen.size, toolCalls: calls, activeMs }];
  });
  const limits = budgetNames.flatMap((name) => {
    const limit = run.limits[limitNames[name]];
    return typeof limit === "number" && limit > 0 ? [[name, limit] as const] : [];
  });
  return { points, limits: Object.fromEntries(limits) };
}
