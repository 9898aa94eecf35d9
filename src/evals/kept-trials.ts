// Finds trials whose files were kept.

import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isRecord } from "../core/kit.ts";
import { parseJson } from "../shared/json.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import type { TrialReport } from "./evaluation.ts";
import { trialFiles } from "./run-trial.ts";

/** A trial whose files were kept. */
export interface KeptTrial {
  readonly id: string;
  readonly case: string;
  readonly number: number;
  readonly directory: string;
  /** The error of a trial that took too long. */
  readonly timeout: string | undefined;
}

/** Returns the trials below the folder, sorted by case and number. A folder that does not exist has none. */
export async function findTrials(root: string): Promise<readonly KeptTrial[]> {
  const names = (await readdir(root, { recursive: true }).catch(unlessMissing)) ?? [];
  const paths = names.map((name) => join(root, name)).filter((path) => path.endsWith(trialFiles.report));
  const found = await Promise.all(paths.map(readTrial));
  return found
    .filter((trial) => trial !== undefined)
    .sort((one, other) => one.case.localeCompare(other.case) || one.number - other.number);
}

async function readTrial(path: string): Promise<KeptTrial | undefined> {
  const report: unknown = parseJson(await readFile(path, "utf8"));
  if (!isTrialReport(report)) return undefined;
  const { id, number, isTimedOut = false, error } = report;
  return { id, case: report.case, number, directory: dirname(path), timeout: isTimedOut ? error : undefined };
}

const isAmount = (value: unknown): boolean => Number.isFinite(value) && Number(value) >= 0;

const statuses: readonly unknown[] = ["passed", "failed", "error"] satisfies readonly TrialReport["status"][];

/** True if a stored value has the fields of a trial that are needed to count it. A file may be damaged, or come from another version. */
export function isTrialReport(value: unknown): value is TrialReport {
  if (!isRecord(value)) return false;
  const { id, number, status, checks, endings, tokens, inputTokens, cachedTokens, knownCostUSD, durationMs } = value;
  return (
    typeof id === "string" &&
    typeof value["case"] === "string" &&
    Number.isSafeInteger(number) &&
    Number(number) > 0 &&
    [tokens, inputTokens, cachedTokens, knownCostUSD, durationMs, value["costUSD"] ?? 0].every(isAmount) &&
    statuses.includes(status) &&
    Array.isArray(checks) &&
    checks.every((check) => isRecord(check) && typeof check["name"] === "string" && typeof check["pass"] === "boolean") &&
    Array.isArray(endings)
  );
}
