// Manages an evaluation's files: a folder for each kept trial, and a list of each case's finished trials, so that another process can
// continue the evaluation.

import { appendFile, mkdir, readdir, readFile, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { isLoopError } from "../core/index.ts";
import { isRecord } from "../core/kit.ts";
import { renderRunPage } from "../inspect/page/render-run-page.ts";
import { lockFile } from "../journal/file-lock.ts";
import { toFileName, writeWhole } from "../journal/named-files.ts";
import { digest, parseJson, stableJson } from "../shared/json.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import type { EvalCase, EvalOptions, EvalReport, Evaluation, TrialReport } from "./evaluation.ts";
import { nothingSpent } from "./spent.ts";

export const trialFiles = { log: "log.jsonl", cassette: "model.jsonl", report: "trial.json", page: "page.html" } as const;

/** The file name of the HTML page for the whole evaluation. */
export const reportPage = "report.html";

/** Windows device names. Windows does not allow a file with such a name, with or without an extension. */
const devices = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/;

/**
 * Returns a readable file name. Ids that are not valid file names, or whose file names could collide, end with a hash. So do ids with
 * a trailing dot, which Windows would drop.
 */
export function fileNameOf(id: string): string {
  if (/^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9_-])?$/.test(id) && !devices.test(id)) return id;
  const readable = id
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")
    .slice(0, 40);
  return `${readable}-${toFileName(id).slice(0, 8)}`;
}

/** Returns an evaluation's folder. */
export function rootOf(directory = ".turnwright/evals", name: string): string {
  return resolve(directory, fileNameOf(name));
}

/**
 * A line in the file of finished trials. `of` identifies the case and the model, because a finished trial counts only while both are
 * unchanged.
 */
interface Line {
  readonly of: string;
  readonly report: TrialReport;
}

const toLine = (line: Line): string => `${JSON.stringify(line)}\n`;

type FileOptions = Pick<Evaluation, "name" | "only" | "model" | "keep" | "replay">;

/** Manages the files of one evaluation or replay. */
export class EvalFiles {
  readonly #top: string;
  readonly #root: string;
  readonly #options: FileOptions;

  constructor(directory: string | undefined, options: FileOptions) {
    this.#top = rootOf(directory, options.name);
    this.#root = join(this.#top, options.replay === undefined ? "" : "replay");
    this.#options = options;
  }

  /**
   * Prevents two evaluations from using the folder at the same time. If another evaluation is using it, throws an Error that `isFolderBusy`
   * recognizes.
   */
  async lock(): Promise<() => Promise<void>> {
    await mkdir(this.#top, { recursive: true });
    try {
      return await lockFile({ path: this.#top, place: join(this.#top, "running") });
    } catch (error) {
      if (!isLoopError(error, "journal-locked")) throw error;
      const { pid, lockPath } = error.details;
      throw new Error(
        `The evaluation "${this.#options.name}" is already running in ${this.#top} (process ${pid}). Wait until it ends, or choose another folder with the option "directory" or --directory. If it has ended, remove ${lockPath}.`,
        { cause: error },
      );
    }
  }

  /** Removes files from earlier evaluations, because their failed trials may pass now, and their cases may be gone. */
  async clear(caseIds: readonly string[]): Promise<void> {
    const paths = this.#options.only === undefined ? [join(this.#root, "cases")] : caseIds.map((id) => this.#caseFolder(id));
    await Promise.all(paths.map((path) => rm(path, { recursive: true, force: true })));
  }

  #caseFolder(caseId: string): string {
    return join(this.#root, "cases", fileNameOf(caseId));
  }

  folderOf(caseId: string, number: number): string {
    return join(this.#caseFolder(caseId), String(number));
  }

  /** Returns the case's trials that an earlier process finished or began, and removes the folders of those that must run again. */
  async resume(item: EvalCase): Promise<readonly TrialReport[]> {
    const folder = this.#caseFolder(item.id);
    const own = this.#of(item);
    const path = join(folder, "ended.jsonl");
    const text = (await readFile(path, "utf8").catch(unlessMissing)) ?? "";
    // Ignores an incomplete last line, which a process leaves behind if it is killed while writing.
    const found = text.split("\n").flatMap((line) => readLine(line, own));
    // Counts each trial only once, even if lines in the file were copied.
    const reports = [...new Map(found.map((report) => [`${report.number} ${report.startedAt}`, report])).values()];
    const names = (await readdir(folder).catch(unlessMissing)) ?? [];
    for (const number of names.filter((name) => /^\d+$/.test(name)).map(Number)) {
      if (reports.some((report) => report.number === number && report.status !== "error")) continue;
      const place = this.folderOf(item.id, number);
      const hasEnded = (await readFile(join(place, trialFiles.report)).catch(unlessMissing)) !== undefined;
      if (!hasEnded) reports.push(cutOff(item.id, number));
      await rm(place, { recursive: true });
    }
    if (reports.length > 0) await writeWhole(path, reports.map((report) => toLine({ of: own, report })).join(""));
    return reports;
  }

  #of(item: EvalCase): string {
    return digest(stableJson([item, this.#options.model ?? null]));
  }

  /**
   * Either keeps a finished trial's files and adds an HTML page, or removes the files. Keeps no record of replayed trials, because a replay
   * always starts from the beginning.
   */
  async end(item: EvalCase, report: TrialReport): Promise<TrialReport> {
    const ended = await keepFiles(report, this.#options.keep);
    if (this.#root !== this.#top) return ended;
    await mkdir(this.#caseFolder(item.id), { recursive: true });
    await appendFile(join(this.#caseFolder(item.id), "ended.jsonl"), toLine({ of: this.#of(item), report: ended }));
    return ended;
  }

  /** Writes the report and its HTML page. `render` receives the page's folder. */
  async write(report: EvalReport, render: (folder: string) => string): Promise<void> {
    await mkdir(this.#root, { recursive: true });
    await writeWhole(join(this.#root, "report.json"), `${JSON.stringify(report, undefined, 2)}\n`);
    await writeWhole(join(this.#root, reportPage), render(this.#root));
  }
}

/** True for the error that `evaluate` throws while another evaluation is using the folder. */
export function isFolderBusy(error: unknown): boolean {
  return error instanceof Error && isLoopError(error.cause, "journal-locked");
}

/** Removes a trial's files, or keeps them and, if there is a log, adds an HTML page that shows the runs. */
async function keepFiles(report: TrialReport, keep: EvalOptions["keep"]): Promise<TrialReport> {
  const { directory, ...rest } = report;
  if (directory === undefined) return report;
  if (keep !== "all" && report.status === "passed") {
    await rm(directory, { recursive: true, force: true });
    return rest;
  }
  const text = await readFile(join(directory, trialFiles.log), "utf8").catch(unlessMissing);
  if (text === undefined) return report;
  const page = join(directory, trialFiles.page);
  await writeWhole(page, await renderRunPage({ name: report.id, text }));
  return { ...report, page };
}

/** A trial whose files were kept. */
export interface KeptTrial extends Pick<TrialReport, "id" | "case" | "number"> {
  readonly directory: string;
  /** The error message of a trial that took too long. */
  readonly timeout: string | undefined;
}

/** Returns the trials in a folder, sorted by case and number. Returns none if the folder does not exist. */
export async function findTrials(root: string): Promise<readonly KeptTrial[]> {
  const names = (await readdir(root, { recursive: true }).catch(unlessMissing)) ?? [];
  const paths = names.map((name) => join(root, name)).filter((path) => path.endsWith(trialFiles.report));
  const found = await Promise.all(paths.map(readTrial));
  return found.flat().sort((one, other) => one.case.localeCompare(other.case) || one.number - other.number);
}

async function readTrial(path: string): Promise<readonly KeptTrial[]> {
  const report: unknown = parseJson(await readFile(path, "utf8"));
  if (!isTrialReport(report)) return [];
  const { id, number, isTimedOut = false, error } = report;
  return [{ id, case: report.case, number, directory: dirname(path), timeout: isTimedOut ? error : undefined }];
}

const isAmount = (value: unknown): boolean => Number.isFinite(value) && Number(value) >= 0;

const statuses: readonly unknown[] = ["passed", "failed", "error"] satisfies readonly TrialReport["status"][];

/** True if a stored value has the fields that are needed to count a trial. The file may be damaged or come from another version. */
function isTrialReport(value: unknown): value is TrialReport {
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

function readLine(text: string, of: string): readonly TrialReport[] {
  const line = parseJson(text);
  return isRecord(line) && line["of"] === of && isTrialReport(line["report"]) ? [line["report"]] : [];
}

/** Creates the report for a trial that was interrupted when its process died. Its spending is unknown. */
function cutOff(caseId: string, number: number): TrialReport {
  const error = "The process died during the trial.";
  const facts = { id: `${caseId}/${number}`, case: caseId, number, status: "error", error, checks: [], endings: [] } as const;
  return { ...facts, ...nothingSpent, costUSD: undefined, startedAt: new Date().toISOString(), durationMs: 0 };
}
