// Formats the parts that all reports share: rates, costs, and the reason why a trial failed.

import { countThings, formatMs, formatShare, formatUSD } from "../../inspect/format.ts";
import type { EvalComparison } from "../compare-reports.ts";
import type { CaseReport, EvalReport, TrialReport } from "../evaluation.ts";
import { cutText } from "../../shared/texts.ts";
import { addSpent, nothingSpent, type Spent } from "../spent.ts";

/** Options for the functions that write a report. */
export interface ReportOptions {
  /**
   * The comparison with an earlier report, from `compareReports`. If there are several, each is shown with the report that has the same
   * name.
   */
  readonly comparison?: EvalComparison | readonly EvalComparison[] | undefined;
}

export function listReports(reports: EvalReport | readonly EvalReport[]): readonly EvalReport[] {
  return [reports].flat();
}

export function findComparison({ name }: EvalReport, { comparison = [] }: ReportOptions): EvalComparison | undefined {
  return ([comparison].flat() as readonly EvalComparison[]).find((one) => one.name === name);
}

/** Returns a rate with its interval, such as "75% (30.1% to 95.4%)". */
export function describeRate({ passed, failed, interval }: Pick<CaseReport, "passed" | "failed" | "interval">): string {
  const [low, high] = interval;
  const range = `${formatShare(low)} to ${formatShare(high)}`;
  return passed + failed === 0 ? "no trial" : `${formatShare(passed / (passed + failed))} (${range})`;
}

/** Returns a cost, such as "$0.12", or "at least $0.12" if part of it is unknown. */
export function describeCost({ costUSD, knownCostUSD }: Pick<Spent, "costUSD" | "knownCostUSD">): string {
  if (costUSD !== undefined) return formatUSD(costUSD);
  return knownCostUSD > 0 ? `at least ${formatUSD(knownCostUSD)}` : "cost unknown";
}

/** Returns what an evaluation has spent, such as "700 tokens, 60% of the input from the cache · $3.50 · 12.0 s". */
export function describeSpent({ totals, durationMs, resumed }: EvalReport): string {
  const { tokens, inputTokens, cachedTokens } = totals;
  const cached = cachedTokens > 0 ? `, ${formatShare(cachedTokens / inputTokens)} of the input from the cache` : "";
  const before = resumed > 0 ? ` · ${countThings(resumed, "trial")} carried over` : "";
  return `${countThings(tokens, "token")}${cached} · ${describeCost(totals)} · ${formatMs(durationMs)}${before}`;
}

const endings: { readonly [Ended in Exclude<EvalReport["ended"], "complete">]: string } = {
  "max-cost": "the cost has reached limits.maxCostUSD",
  "cost-unknown": "the cost is unknown; set the option pricing of the runs, or omit limits.maxCostUSD",
  "max-tokens": "the tokens have reached limits.maxTokens",
  "max-duration": "the time has reached limits.maxDurationMs",
  stopped: "it was stopped",
};

/** Returns the outcome of an evaluation, such as "failed: 1 of 2 cases passed". */
export function describeOutcome({ ok, ended, totals }: EvalReport): string {
  const { cases, passedCases, errors } = totals;
  const facts = [
    `${passedCases} of ${countThings(cases, "case")} passed`,
    ...(errors > 0 ? [countThings(errors, "trial") + " with an error"] : []),
    ...(ended === "complete" ? [] : [`ended before all trials had run (${endings[ended]})`]),
  ];
  return `${ok ? "passed" : "failed"}: ${facts.join(", ")}`;
}

/** Returns pass@k and pass^k for the largest k above 1, such as "pass@5 100%, pass^5 40%". */
export function describePassAt({ totals }: EvalReport): string | undefined {
  const last = totals.passAt.at(-1);
  if (last === undefined || last.k === 1) return undefined;
  return `pass@${last.k} ${formatShare(last.any)}, pass^${last.k} ${formatShare(last.all)}`;
}

export function describeScores({ totals }: EvalReport): readonly string[] {
  return Object.entries(totals.scores).map(([name, score]) => `${name} ${formatScore(score)}`);
}

/** Returns the total that a case's trials have spent. */
export function sumSpent({ trials }: CaseReport): Spent & Pick<TrialReport, "durationMs"> {
  const durationMs = trials.reduce((sum, trial) => sum + trial.durationMs, 0);
  return { ...trials.reduce<Spent>(addSpent, nothingSpent), durationMs };
}

/** A failed check or an error in a trial. */
export interface Problem {
  /** The check's name. Undefined for an error. */
  readonly check?: string | undefined;
  readonly reason: string;
}

export function listProblems({ checks, error }: TrialReport): readonly Problem[] {
  const failed = checks.filter(({ pass }) => !pass);
  return [
    ...(error === undefined ? [] : [{ reason: error }]),
    ...failed.map(({ name, score, reason }) => ({
      check: name,
      reason: [...(score === undefined ? [] : [`score ${score}`]), ...(reason === undefined ? [] : [reason])].join(", "),
    })),
  ];
}

/** A problem that one or more trials have. */
export interface SharedProblem extends Problem {
  /** The first trial that has the problem. */
  readonly trial: TrialReport;
  readonly count: number;
}

/** Returns a case's problems. Trials that failed in the same way share one. */
export function groupProblems({ trials }: CaseReport): readonly SharedProblem[] {
  const found = new Map<string, SharedProblem>();
  for (const trial of trials)
    for (const problem of listProblems(trial)) {
      const key = JSON.stringify([problem.check, problem.reason]);
      const known = found.get(key) ?? { ...problem, trial, count: 0 };
      found.set(key, { ...known, count: known.count + 1 });
    }
  return [...found.values()];
}

/** The maximum length of a reason in the list of problems, in UTF-16 units. */
const longestReason = 400;

export function cutReason(reason: string): string {
  return cutText(reason, longestReason);
}

/** True if the `turnwright eval` command should succeed. In a comparison, cases that failed before may fail again. */
export function isGood({ ok, ended, totals }: EvalReport, comparison: EvalComparison | undefined): boolean {
  if (comparison === undefined) return ok;
  return ended === "complete" && totals.errors === 0 && !comparison.isWorse && comparison.passRate.before !== undefined;
}

export function writeProblem({ check, reason }: Problem): string {
  if (check === undefined) return `error: ${reason}`;
  return reason === "" ? check : `${check}: ${reason}`;
}

/** Describes a case in words: its status, and anything else that a reader must know. */
export function describeCase({ status, isFlaky, errors }: CaseReport): readonly string[] {
  return [status, ...(isFlaky ? ["flaky"] : []), ...(errors > 0 && status !== "error" ? ["error"] : [])];
}

const ranks = { failed: 0, error: 1, undecided: 2, passed: 4 } as const;

/** Sorts cases that need attention to the front. */
export function sortCases(cases: readonly CaseReport[]): readonly CaseReport[] {
  const rank = (report: CaseReport): number =>
    describeCase(report).length > 1 ? Math.min(3, ranks[report.status]) : ranks[report.status];
  return [...cases].sort((one, other) => rank(one) - rank(other));
}

/** Describes what improved or got worse. The first line is the verdict. `quote` formats a score's name. */
export function describeComparison(comparison: EvalComparison, quote = (name: string): string => name): readonly string[] {
  const { worse, better, p, passRate, scores, ended, tokens, costUSD, reason, cases } = comparison;
  const count = (kind: EvalComparison["cases"][number]["change"]): number => cases.filter((one) => one.change === kind).length;
  const [less, more] = [count("less-often"), count("more-often")];
  const isLower = worse > 0 || less > 0;
  const test = p < 0.05 ? "" : ", so chance may explain this";
  return [
    reason !== undefined ? `Worse than before: ${reason}.` : `Not ${isLower ? "significantly " : ""}worse than before.`,
    `Cases that passed only before: ${worse}. Cases that pass only now: ${better}.`,
    ...(worse + better === 0 ? [] : [`Exact McNemar test: p = ${Number(p.toPrecision(2))}${test}.`]),
    ...(less + more === 0 ? [] : [`Other cases whose trials pass less often: ${less}, more often: ${more}.`]),
    ...describeEnd("The previous version", ended.before),
    ...describeEnd("This version", ended.after),
    ...change("Pass rate", passRate, formatShare),
    ...Object.entries(scores).flatMap(([name, score]) => change(`Score ${quote(name)}`, score, formatScore)),
    ...change("Tokens per trial", tokens, (number) => countThings(Math.round(number), "token")),
    ...change("Cost per trial", costUSD, formatUSD),
  ];
}

function describeEnd(name: string, ended: EvalReport["ended"]): readonly string[] {
  return ended === "complete" ? [] : [`${name} ended before all trials had run: ${endings[ended]}.`];
}

function formatScore(score: number): string {
  return String(Number(score.toFixed(3)));
}

function change(
  name: string,
  { before, after }: EvalComparison["passRate"],
  write: (value: number) => string,
): readonly string[] {
  return before === undefined || after === undefined ? [] : [`${name}: ${write(before)} → ${write(after)}.`];
}

/** Returns the cases in which something has changed. */
export function listChanges({ cases }: EvalComparison): EvalComparison["cases"] {
  return cases.filter(({ change: kind, scores }) => kind !== "same" || Object.keys(scores).length > 0);
}

/** Describes a case's results in one report, such as "passed 3/3". */
export function describeStanding(standing: EvalComparison["cases"][number]["before"]): string {
  if (standing === undefined) return "missing";
  const { status, passed, failed, errors } = standing;
  return `${status} ${passed}/${passed + failed}${errors === 0 ? "" : `, ${countThings(errors, "error")}`}`;
}

/** Describes the scores that have changed, and the first difference between the runs. */
export function describeChange({ scores, difference }: EvalComparison["cases"][number]): string {
  const changed = Object.entries(scores).flatMap(([name, score]) => change(`score ${name}`, score, formatScore));
  const found = difference === undefined ? [] : [`${difference.text} (${difference.before} and ${difference.after})`];
  return [...changed, ...found].join(" ");
}
