// Compares the reports of two versions, case by case.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { checkFields, type Checks } from "../core/kit.ts";
import type { Json } from "../core/index.ts";
import { readRunLog } from "../inspect/log/read-run-log.ts";
import type { LoggedRun } from "../shared/run-log.ts";
import { isSameJson, parseJson, toJson } from "../shared/json.ts";
import { describeDifference } from "./describe-difference.ts";
import type { CaseReport, EvalReport, TrialReport } from "./evaluation.ts";
import { trialFiles } from "./run-trial.ts";
import { mcNemarTest } from "./statistics.ts";

/** The options of `compareReports`. */
export interface CompareOptions {
  /** By how much the pass rate may be lower, from 0 to 1. Default 0.05. */
  readonly maxDrop?: number | undefined;
}

/** A value in both reports. Undefined if it is unknown. */
export interface Change {
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/** The trials of a case in one report. */
export type CaseStanding = Pick<CaseReport, "status" | "passed" | "failed" | "errors">;

/** A case in two reports. */
export interface ComparedCase {
  readonly id: string;
  /** "worse" if the case only passed before, "better" if it only passes now. "added" and "removed" cases are in one report only. */
  readonly change: "same" | "better" | "worse" | "added" | "removed";
  /** Undefined if the report does not have the case. */
  readonly before: CaseStanding | undefined;
  readonly after: CaseStanding | undefined;
  /**
   * The first difference between a trial that passed and one that failed. Undefined if the verdict is the same, or there are no logs of
   * both.
   */
  readonly difference?: RunDifference | undefined;
}

/** The place at which two trials begin to differ. */
export interface RunDifference {
  /** The ids of the trials, such as "refund/2". */
  readonly before: string;
  readonly after: string;
  /** The iteration of the first difference, and what differs, such as "iteration 2: another call: refund → lookup". */
  readonly text: string;
}

/** Two reports of the same evaluation, compared case by case. Plain data. */
export interface EvalComparison {
  /** The name of the evaluation. */
  readonly name: string;
  /** True if significantly more cases became worse than better (p < 0.05), or the pass rate is lower by more than `maxDrop`. */
  readonly isWorse: boolean;
  /** Why it is worse. */
  readonly reason?: string | undefined;
  /** The number of cases that passed before and fail now. */
  readonly worse: number;
  /** The number of cases that failed before and pass now. */
  readonly better: number;
  /** The p-value of the exact McNemar test of `worse` and `better`. */
  readonly p: number;
  /** The mean pass rate of the cases that both reports have. */
  readonly passRate: Change;
  /** The mean tokens of a trial, of the cases that both reports have. */
  readonly tokens: Change;
  /** The mean cost of a trial in USD, of the cases that both reports have. */
  readonly costUSD: Change;
  readonly cases: readonly ComparedCase[];
}

const significance = 0.05;

const checks: Checks<CompareOptions> = {
  maxDrop: ["a share from 0 to 1", (value) => typeof value === "number" && value >= 0 && value <= 1],
};

/**
 * Compares two reports of an evaluation, case by case. Cases are found by their ids. Cases without a verdict in one of the reports are no
 * pair, and count in no test.
 *
 * For a case whose verdict changed, says where a passed and a failed trial begin to differ. This needs the logs of both, so let both
 * evaluations keep all trials, with `keep: "all"` and in different folders.
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
  // The difference of 0.8 and 0.75 is a little more than 0.05 in floating point.
  if (before - after <= maxDrop + 1e-9) return undefined;
  return `the pass rate is lower by more than ${Number((100 * maxDrop).toPrecision(3))} points`;
}

async function compareCase({ id, before, after }: Pair): Promise<ComparedCase> {
  const change = changeOf(before, after);
  const difference =
    before === undefined || after === undefined || change === "same"
      ? undefined
      : await findDifference(before, after, change === "worse");
  return {
    id,
    change,
    before: before && standingOf(before),
    after: after && standingOf(after),
    ...(difference !== undefined && { difference }),
  };
}

function standingOf({ status, passed, failed, errors }: CaseReport): CaseStanding {
  return { status, passed, failed, errors };
}

function changeOf(before: CaseReport | undefined, after: CaseReport | undefined): ComparedCase["change"] {
  if (before === undefined) return "added";
  if (after === undefined) return "removed";
  if (before.status === "passed" && after.status === "failed") return "worse";
  return before.status === "failed" && after.status === "passed" ? "better" : "same";
}

async function findDifference(before: CaseReport, after: CaseReport, isWorse: boolean): Promise<RunDifference | undefined> {
  const left = await findLogged(before, isWorse ? "passed" : "failed");
  const right = await findLogged(after, isWorse ? "failed" : "passed");
  if (left === undefined || right === undefined) return undefined;
  const text = describeDifference(left.runs, right.runs);
  return text === undefined ? undefined : { before: left.id, after: right.id, text };
}

interface LoggedTrial {
  readonly id: string;
  readonly runs: readonly LoggedRun[];
}

/** Returns the first trial of this status that has a log. */
async function findLogged({ trials }: CaseReport, status: TrialReport["status"]): Promise<LoggedTrial | undefined> {
  for (const trial of trials) {
    const runs = trial.status === status ? await readRuns(trial) : undefined;
    if (runs !== undefined) return { id: trial.id, runs };
  }
  return undefined;
}

/** Returns the runs of a trial. Undefined if its files were not kept, or are no longer there. */
async function readRuns(trial: TrialReport): Promise<readonly LoggedRun[] | undefined> {
  const { directory } = trial;
  if (directory === undefined) return undefined;
  try {
    const kept = parseJson(await readFile(join(directory, trialFiles.report), "utf8")) as TrialReport;
    // A later evaluation may have written its own files to the folder.
    if (!isSameJson(withoutPaths(kept), withoutPaths(trial))) return undefined;
    return (await readRunLog(join(directory, trialFiles.log))).runs;
  } catch {
    return undefined;
  }
}

function withoutPaths(trial: TrialReport): Json {
  return toJson({ ...trial, directory: undefined, page: undefined });
}
