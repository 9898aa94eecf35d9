// Compares the reports of two versions, case by case.

import { checkFields, type Checks } from "../core/kit.ts";
import type { RunDifference } from "./describe-difference.ts";
import type { CaseReport, EvalReport } from "./evaluation.ts";
import { mcNemarTest } from "./statistics.ts";

/** The options of `compareReports`. */
export interface CompareOptions {
  /** The maximum drop in the pass rate, from 0 to 1. Default 0.05. */
  readonly maxDrop?: number | undefined;
}

/** A value in the first and in the second report. Undefined if unknown. */
export interface Change {
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/** The scores whose mean has changed, by name. */
export interface ScoreChanges {
  readonly [name: string]: Change;
}

/** A case's status and trial counts in one report. */
export type CaseStanding = Pick<CaseReport, "status" | "passed" | "failed" | "errors">;

/** A case in two reports. */
export interface ComparedCase {
  readonly id: string;
  /**
   * "worse" if the case passed only before, "better" if it passes only now. "less-often" and "more-often" if the verdict is the same but
   * the share of passed trials changed. "unclear" if errors or missing trials prevent a comparison. "added" and "removed" cases are in only
   * one report.
   */
  readonly change: "same" | "better" | "worse" | "less-often" | "more-often" | "unclear" | "added" | "removed";
  /** The case's counts in the first report. Undefined if that report lacks the case. */
  readonly before: CaseStanding | undefined;
  readonly after: CaseStanding | undefined;
  /** The scores whose mean has changed, by name. */
  readonly scores: ScoreChanges;
  /**
   * The first difference between a trial that passed and one that failed. Undefined if nothing changed, or if one of the logs is missing.
   */
  readonly difference?: RunDifference | undefined;
}

/** Two reports of the same evaluation, compared case by case, as JSON data. */
export interface EvalComparison {
  /** The evaluation's name. */
  readonly name: string;
  /** True if significantly more cases are worse than better (p < 0.05), or if the pass rate dropped by more than `maxDrop`. */
  readonly isWorse: boolean;
  /** Why the second report is worse. */
  readonly reason?: string | undefined;
  /** The number of cases that passed before and fail now. */
  readonly worse: number;
  /** The number of cases that failed before and pass now. */
  readonly better: number;
  /** The p-value of the exact McNemar test for `worse` and `better`. */
  readonly p: number;
  /** The mean pass rate of the cases in both reports. */
  readonly passRate: Change;
  /** The scores whose mean has changed, over the cases in both reports. */
  readonly scores: ScoreChanges;
  /** Why each evaluation ended. If one ended early, its report has fewer trials or cases. */
  readonly ended: { readonly before: EvalReport["ended"]; readonly after: EvalReport["ended"] };
  /** The mean number of tokens per trial, over the cases in both reports. */
  readonly tokens: Change;
  /** The mean cost per trial in USD, over the cases in both reports. */
  readonly costUSD: Change;
  readonly cases: readonly ComparedCase[];
}

const significance = 0.05;

const checks: Checks<CompareOptions> = {
  maxDrop: ["a share from 0 to 1", (value) => typeof value === "number" && value >= 0 && value <= 1],
};

/**
 * Compares two reports of an evaluation, case by case. Cases are matched by id. Cases without a verdict in one of the reports are not
 * paired, and are not counted in any test.
 *
 * For a case that passes more or less often, says where a passed and a failed trial begin to differ. This needs the logs of both, so run
 * both evaluations with `keep: "all"` and in different folders.
 *
 * Rejects with LoopError "invalid-option" or "unknown-option" for `options`.
 *
 * @example
 * const comparison = await compareReports(before, after);
 * console.log(toMarkdownReport(after, { comparison }));
 * if (comparison.isWorse) process.exitCode = 1;
 */
export async function compareReports(
  before: EvalReport,
  after: EvalReport,
  options: CompareOptions = {},
): Promise<EvalComparison> {
  checkFields("options", options, checks);
  const { maxDrop = 0.05 } = options;
  const ids = new Set([...before.cases, ...after.cases].map(({ id }) => id));
  const pairs = [...ids].map((id) => ({ id, before: findCase(before, id), after: findCase(after, id) }));
  const both = pairs.filter((pair): pair is Both => pair.before !== undefined && pair.after !== undefined);
  const cases = await Promise.all(pairs.map(compareCase));
  const worse = cases.filter(({ change }) => change === "worse").length;
  const better = cases.filter(({ change }) => change === "better").length;
  const p = mcNemarTest(worse, better);
  const judged = both.filter((pair) => judgedTrials(pair.before) > 0 && judgedTrials(pair.after) > 0);
  const passRate = compareMeans(judged, (one) => [one.passed / judgedTrials(one)]);
  const reason = whyWorse({ worse, better, p, passRate, maxDrop });
  return {
    name: after.name,
    isWorse: reason !== undefined,
    ...(reason !== undefined && { reason }),
    worse,
    better,
    p,
    passRate,
    scores: compareScores(both),
    ended: { before: before.ended, after: after.ended },
    tokens: compareMeans(both, ({ trials }) => trials.map(({ tokens }) => tokens)),
    costUSD: compareMeans(both, ({ trials }) => trials.map(({ costUSD }) => costUSD)),
    cases,
  };
}

interface Pair {
  readonly id: string;
  readonly before: CaseReport | undefined;
  readonly after: CaseReport | undefined;
}

type Both = Pair & { readonly before: CaseReport; readonly after: CaseReport };

function findCase({ cases }: EvalReport, id: string): CaseReport | undefined {
  return cases.find((one) => one.id === id);
}

function judgedTrials({ passed, failed }: CaseReport): number {
  return passed + failed;
}

function compareMeans(pairs: readonly Both[], read: (report: CaseReport) => readonly (number | undefined)[]): Change {
  const meanOf = (reports: readonly CaseReport[]): number | undefined => {
    const values = reports.flatMap(read);
    if (values.length === 0 || values.includes(undefined)) return undefined;
    return values.reduce<number>((sum, value) => sum + (value ?? 0), 0) / values.length;
  };
  return { before: meanOf(pairs.map((pair) => pair.before)), after: meanOf(pairs.map((pair) => pair.after)) };
}

type Found = Pick<EvalComparison, "worse" | "better" | "p" | "passRate"> & { readonly maxDrop: number };

function whyWorse({ worse, better, p, passRate, maxDrop }: Found): string | undefined {
  if (worse > better && p < significance) return "significantly more cases became worse than better";
  const { before = 0, after = 0 } = passRate;
  // Allows for rounding: 0.8 - 0.75 is a little more than 0.05 in floating point.
  if (before - after <= maxDrop + 1e-9) return undefined;
  return `the pass rate is lower by more than ${Number((100 * maxDrop).toPrecision(3))} points`;
}

async function compareCase({ id, before, after }: Pair): Promise<ComparedCase> {
  const change = changeOf(before, after);
  const standings = { id, change, before: before && standingOf(before), after: after && standingOf(after) };
  if (before === undefined || after === undefined) return { ...standings, scores: {} };
  const scores = compareScores([{ id, before, after }]);
  if (change === "same" || change === "unclear") return { ...standings, scores };
  const { findDifference } = await import("./describe-difference.ts");
  const difference = await findDifference(before, after, change === "worse" || change === "less-often");
  return { ...standings, scores, ...(difference !== undefined && { difference }) };
}

/** Compares the mean of each score that both versions report. */
function compareScores(pairs: readonly Both[]): ScoreChanges {
  const names = new Set(pairs.flatMap(({ after }) => after.trials.flatMap(({ checks }) => checks.map(({ name }) => name))));
  const means = [...names].map((name) => {
    const scoresOf = ({ trials }: CaseReport): readonly number[] =>
      trials.flatMap((trial) => trial.checks.flatMap((check) => (check.name === name ? (check.score ?? []) : [])));
    const scored = pairs.filter((pair) => scoresOf(pair.before).length > 0 && scoresOf(pair.after).length > 0);
    return [name, compareMeans(scored, scoresOf)] as const;
  });
  // Ignores tiny differences, because adding the same scores in a different order may change the sum's last digits.
  return Object.fromEntries(means.filter(([, { before = 0, after = 0 }]) => Math.abs(before - after) > 1e-9));
}

function standingOf({ status, passed, failed, errors }: CaseReport): CaseStanding {
  return { status, passed, failed, errors };
}

function changeOf(before: CaseReport | undefined, after: CaseReport | undefined): ComparedCase["change"] {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  const drop = before.passed * judgedTrials(after) - after.passed * judgedTrials(before);
  if (hasVerdict(before) && hasVerdict(after)) {
    if (before.status !== after.status) return before.status === "passed" ? "worse" : "better";
    if (drop !== 0) return drop > 0 ? "less-often" : "more-often";
  }
  return before.status === after.status && before.errors === after.errors && drop === 0 ? "same" : "unclear";
}

function hasVerdict({ status }: CaseReport): boolean {
  return status === "passed" || status === "failed";
}
