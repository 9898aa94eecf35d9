// Describes where the runs of two trials begin to differ. Loaded only for a case that has changed, because it needs the log reader.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ComparedIteration, compareRuns } from "../inspect/analysis/compare-runs.ts";
import { readRunLog } from "../inspect/log/read-run-log.ts";
import { parseJson } from "../shared/json.ts";
import type { LoggedRun } from "../shared/run-log.ts";
import type { CaseReport, TrialReport } from "./evaluation.ts";
import { trialFiles } from "./trial-files.ts";

/** The point at which two trials begin to differ. */
export interface RunDifference {
  /** The ids of the trials, such as "refund/2". */
  readonly before: string;
  readonly after: string;
  /** The first difference and its iteration, such as "iteration 2: another call: refund → lookup". */
  readonly text: string;
}

/** Finds the first difference between a trial that passed and one that failed. `isWorse` is true if the passed trial is the earlier one. */
export async function findDifference(
  before: CaseReport,
  after: CaseReport,
  isWorse: boolean,
): Promise<RunDifference | undefined> {
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

/** Returns the first trial with this status that has a log. */
async function findLogged({ trials }: CaseReport, status: TrialReport["status"]): Promise<LoggedTrial | undefined> {
  for (const trial of trials) {
    const runs = trial.status === status ? await readRuns(trial) : undefined;
    if (runs !== undefined) return { id: trial.id, runs };
  }
  return undefined;
}

/** Returns a trial's runs, or undefined if its files were not kept or no longer exist. */
async function readRuns(trial: TrialReport): Promise<readonly LoggedRun[] | undefined> {
  const { directory } = trial;
  if (directory === undefined) return undefined;
  try {
    const kept = parseJson(await readFile(join(directory, trialFiles.report), "utf8")) as TrialReport;
    // Checks that these are the trial's own files, because a later evaluation may have replaced them.
    if (kept.startedAt !== trial.startedAt) return undefined;
    return (await readRunLog(join(directory, trialFiles.log))).runs;
  } catch {
    return undefined;
  }
}

/**
 * Describes the first iteration that differs, such as "iteration 2: another call: refund → lookup". Different calls take precedence,
 * because a model's words differ in almost every run. Returns undefined if nothing differs.
 */
function describeDifference(left: readonly LoggedRun[], right: readonly LoggedRun[]): string | undefined {
  const count = Math.max(left.length, right.length);
  for (let at = 0; at < count; at += 1) {
    const [before, after] = [left[at], right[at]];
    const name = count === 1 ? "" : `run ${at + 1}, `;
    if (before === undefined || after === undefined) return `run ${at + 1}: only ${after === undefined ? "before" : "after"}`;
    const { iterations } = compareRuns(before, after);
    const found =
      iterations.find(hasOtherCalls) ??
      iterations.find(({ isOutputSame }) => !isOutputSame) ??
      iterations.find(({ isSame }) => !isSame);
    if (found !== undefined) return `${name}iteration ${found.iteration}: ${describeIteration(found)}${describeRequest(found)}`;
  }
  return undefined;
}

function hasOtherCalls({ left, right, calls }: ComparedIteration): boolean {
  return left === undefined || right === undefined || calls.some(({ kind }) => kind !== "same");
}

function describeIteration(compared: ComparedIteration): string {
  const [removed, added] = [namesOf(compared, "removed"), namesOf(compared, "added")];
  if (removed !== "" && removed === added) return `different arguments: ${added}`;
  if (removed !== "" && added !== "") return `different call: ${removed} → ${added}`;
  if (added !== "") return `extra call: ${added}`;
  return removed === "" ? describeOutput(compared) : `missing call: ${removed}`;
}

function namesOf({ calls }: ComparedIteration, kind: "added" | "removed" | "changed"): string {
  const found = calls.filter((call) => call.kind === kind).map(({ left, right }) => (left ?? right)?.name);
  return found.join(", ");
}

function describeOutput(compared: ComparedIteration): string {
  const { left, right, isOutputSame } = compared;
  if (left === undefined || right === undefined) return `only ${right === undefined ? "before" : "after"}`;
  const changed = namesOf(compared, "changed");
  if (changed !== "") return `different result: ${changed}`;
  if (left.status !== right.status) return `different ending: ${left.status} → ${right.status}`;
  return isOutputSame ? "different request" : describeWords(left.output?.text ?? "", right.output?.text ?? "");
}

/** Returns the parts of both strings around their first difference. */
function describeWords(left: string, right: string): string {
  if (left === right) return "different reasoning";
  let same = 0;
  while (left[same] === right[same]) same += 1;
  return `different text: ${cutText(left, same)} → ${cutText(right, same)}`;
}

const charsBefore = 20;
const charsAfter = 30;

function cutText(text: string, at: number): string {
  const [from, to] = [Math.max(0, at - charsBefore), at + charsAfter];
  // Removes half of a surrogate pair, which the cut may leave at either end.
  const part = text
    .slice(from, to)
    .replace(/[\uD800-\uDFFF]/gu, "")
    .replace(/\s+/g, " ");
  return `"${from > 0 ? "…" : ""}${part}${to < text.length ? "…" : ""}"`;
}

/** Describes how two requests differ. Ignores messages after the first iteration, because they only repeat an earlier difference. */
function describeRequest({ iteration, requestParts }: ComparedIteration): string {
  const parts = requestParts.filter((part) => part !== "messages" || iteration === 0);
  return parts.length === 0 ? "" : ` (the requests differ in ${parts.join(", ")})`;
}
