// Finds the trials whose files were kept.

import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isRecord } from "../core/kit.ts";
import { parseJson } from "../shared/json.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { trialFiles } from "./run-trial.ts";

/** A trial whose files were kept. */
export interface KeptTrial {
  readonly id: string;
  readonly case: string;
  readonly number: number;
  readonly directory: string;
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
  if (!isRecord(report)) return undefined;
  const { id, number } = report;
  const name = report["case"];
  if (typeof id !== "string" || typeof name !== "string" || typeof number !== "number") return undefined;
  return { id, case: name, number, directory: dirname(path) };
}
