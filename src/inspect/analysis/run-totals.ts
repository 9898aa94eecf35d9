// Adds up what a run and its nested runs have spent, in total and over time.

import { addKnown } from "../../shared/count-usage.ts";
import { wasDispatched } from "../../shared/to-outcome.ts";
import type { LoggedCompaction, LoggedIteration, LoggedRun } from "../../shared/run-log.ts";

export interface RunTotals {
  readonly inputTokens: number;
  /** The input tokens that services read from a cache. Undefined if no service reported any. */
  readonly cachedTokens: number | undefined;
  readonly outputTokens: number;
  readonly tokens: number;
  /** The total of the known costs. Undefined if no cost is known. */
  readonly costUSD: number | undefined;
  /** The number of iterations in the run itself. A repeated stream counts once. */
  readonly iterations: number;
  /** The calls that were started, including those of nested runs. */
  readonly calls: number;
  /** The number of nested runs, at any depth. */
  readonly nestedRuns: number;
}

export const noTotals: RunTotals = {
  inputTokens: 0,
  cachedTokens: undefined,
  outputTokens: 0,
  tokens: 0,
  costUSD: undefined,
  iterations: 0,
  calls: 0,
  nestedRuns: 0,
};

/** Sums a run's streams, summaries and calls. For a run that has not ended, sums those logged so far. */
export function totalsOf(run: Pick<LoggedRun, "iterations" | "compactions">): RunTotals {
  const parts = [...run.iterations.map(totalsOfIteration), ...run.compactions.map(spendingOf)];
  const sum = parts.reduce(addTotals, noTotals);
  return { ...sum, iterations: new Set(run.iterations.map(({ iteration }) => iteration)).size };
}

function totalsOfIteration(iteration: LoggedIteration): RunTotals {
  const { calls } = iteration;
  const nested = calls.flatMap(({ runs }) => runs.map(totalsOf));
  const own: RunTotals = {
    ...spendingOf(iteration),
    calls: calls.filter(({ outcome }) => outcome !== undefined && wasDispatched(outcome)).length,
    nestedRuns: nested.length,
  };
  return { ...nested.reduce(addTotals, own), iterations: 0 };
}

function spendingOf({ usage, costUSD }: LoggedIteration | LoggedCompaction): RunTotals {
  return {
    ...noTotals,
    inputTokens: usage?.inputTokens ?? 0,
    cachedTokens: usage?.cachedInputTokens,
    outputTokens: usage?.outputTokens ?? 0,
    tokens: usage?.totalTokens ?? 0,
    costUSD,
  };
}

export function addTotals(one: RunTotals, other: RunTotals): RunTotals {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    cachedTokens: addKnown(one.cachedTokens, other.cachedTokens),
    outputTokens: one.outputTokens + other.outputTokens,
    tokens: one.tokens + other.tokens,
    costUSD: addKnown(one.costUSD, other.costUSD),
    iterations: one.iterations + other.iterations,
    calls: one.calls + other.calls,
    nestedRuns: one.nestedRuns + other.nestedRuns,
  };
}

/** Returns the share of the input tokens that services read from a cache, from 0 to 1. Undefined if no service reported cached tokens. */
export function cacheShareOf({ inputTokens, cachedTokens }: RunTotals): number | undefined {
  return cachedTokens === undefined || inputTokens === 0 ? undefined : cachedTokens / inputTokens;
}

/** Returns the run's model, then any other models that answered in it. Models from nested runs are not included. */
export function modelsOf({ model, iterations }: Pick<LoggedRun, "model" | "iterations">): readonly string[] {
  return [...new Set([model, ...iterations.map((iteration) => iteration.model ?? iteration.request?.model ?? model)])];
}

/**
 * Returns a run's active time so far, in milliseconds. The log may lack earlier executions, whose time is then included only in
 * `durationMs`.
 */
export function activeMsOf(run: Pick<LoggedRun, "lines" | "endedAt" | "durationMs">): number {
  return Math.max(run.durationMs ?? 0, activeMsUntil(executionsOf(run), run.endedAt ?? Infinity));
}

/** Returns a run's active time up to the time `at`, in milliseconds. The time between two executions does not count. */
export function activeMsUntil(executions: readonly Execution[], at: number): number {
  const spent = executions.map(({ from, to }) => Math.max(0, Math.min(at, to) - from));
  return spent.reduce((sum, ms) => sum + ms, 0);
}

interface Execution {
  readonly from: number;
  readonly to: number;
}

/**
 * Returns when a run's executions began and ended. An execution begins with a run-start line, and ends with the last line before the next
 * one.
 */
export function executionsOf(run: Pick<LoggedRun, "lines">): readonly Execution[] {
  const executions: { from: number; to: number }[] = [];
  for (const { type, at } of run.lines) {
    if (type === "run-start") executions.push({ from: at, to: at });
    const open = executions.at(-1);
    if (open !== undefined) open.to = Math.max(open.to, at);
  }
  return executions;
}

export const budgetNames = ["tokens", "costUSD", "iterations", "toolCalls", "activeMs"] as const;

export type BudgetName = (typeof budgetNames)[number];

/**
 * The amounts that a run and its nested runs have spent by the end of an iteration or compaction. `costUSD` is undefined until a cost is
 * known.
 */
export type BudgetPoint = { readonly [Name in BudgetName]: number | undefined } & {
  /** "Iteration 3", or "Compaction 3" for the compaction before iteration 3. */
  readonly label: string;
  readonly activeMs: number;
};

export interface BudgetSeries {
  readonly points: readonly BudgetPoint[];
  readonly limits: { readonly [Name in BudgetName]?: number | undefined };
}

const limitNames: { readonly [Name in BudgetName]: string } = {
  tokens: "maxTokens",
  costUSD: "maxCostUSD",
  iterations: "maxIterations",
  toolCalls: "maxToolCalls",
  activeMs: "wallClockMs",
};

/** Returns the amounts at the end of each iteration and compaction of a run. An unfinished iteration has no point. */
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
