// Runs an evaluation: plans its trials, enforces its limits, and reports.

import { mkdir, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { type Clock, isLoopError } from "../core/index.ts";
import { checkFields, invalidOption } from "../core/kit.ts";
import { renderRunPage } from "../inspect/page/render-run-page.ts";
import { lockFile } from "../journal/file-lock.ts";
import { writeWhole } from "../journal/named-files.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { IdleTimer, onAbort, systemClock } from "../shared/signals.ts";
import { casesOf, defineEvaluation, optionChecks } from "./evaluation.ts";
import type { EvalCase, EvalLimits, EvalOptions, EvalReplay, EvalReport, Evaluation, TrialReport } from "./evaluation.ts";
import { CasePlan, type CaseRule } from "./case-plan.ts";
import { EndedTrials } from "./ended-trials.ts";
import { findTrials, type KeptTrial } from "./kept-trials.ts";
import { fileNameOf } from "./words.ts";
import { makeReport } from "./make-report.ts";
import { renderEvalPage } from "./reports/eval-page.ts";
import { runTrial, trialFiles, type TrialPorts } from "./run-trial.ts";
import { addSpent, nothingSpent, type Spent } from "./spent.ts";

type EndReason = EvalReport["ended"];

/**
 * Runs an evaluation and reports. Trials of different cases take turns, and up to `limits.concurrency` run at the same time. `options`
 * replace the options of the evaluation.
 *
 * A trial is a run, or whatever the function `run` does, in a fresh world. With `trial.options`, each run has a journal, a log and a
 * recording of the model. Trials that failed keep these files, in a folder for each trial.
 *
 * Rejects with LoopError "invalid-option" or "unknown-option", with errors of the disk, and with an Error while another evaluation of this
 * name runs in the folder. Errors of `setup`, `run` and `teardown` do not reject: they are in the report.
 *
 * @example
 * const report = await evaluate(support, { trials: 5, limits: { maxCostUSD: 1 } });
 * assert(report.ok, toMarkdownReport(report));
 */
export async function evaluate<Case extends EvalCase, Result, World>(
  evaluation: Evaluation<Case, Result, World>,
  options: EvalOptions = {},
): Promise<EvalReport> {
  checkFields("options", options, optionChecks);
  const all = { ...defineEvaluation(evaluation), ...options, limits: { ...evaluation.limits, ...options.limits } };
  const kept = await keptTrials(all);
  const plans = (await chooseCases<Case>(all, kept)).map((item) => new CasePlan(item, ruleOf(all, kept, item.id)));
  const files = filesOf(all, kept !== undefined);
  const cause =
    kept !== undefined ? "a replay begins anew" : all.directory === false ? "the option directory is false" : undefined;
  if (all.resume === true && cause !== undefined) throw invalidOption("resume", `false, because ${cause}`, true);
  const unlock = await files.lock();
  try {
    const resumed = all.resume === true ? await resumePlans(plans, files) : [];
    if (all.resume !== true) await files.clear(plans.map(({ item }) => item.id));
    const report = await runPlans(all, { plans, kept, files, resumed });
    await files.write(report);
    return report;
  } finally {
    await unlock();
  }
}

interface Planned<Case extends EvalCase> {
  readonly plans: readonly CasePlan<Case>[];
  readonly kept: readonly KeptTrial[] | undefined;
  readonly files: Files;
  /** The trials of an earlier process that count. */
  readonly resumed: readonly TrialReport[];
}

async function resumePlans(plans: readonly CasePlan<EvalCase>[], files: Files): Promise<readonly TrialReport[]> {
  const found = await Promise.all(plans.map(async (plan) => plan.resume((await files.endedOf(plan.item)?.read()) ?? [])));
  return found.flat();
}

async function runPlans<Case extends EvalCase, Result, World>(
  evaluation: Evaluation<Case, Result, World>,
  { plans, kept, files, resumed }: Planned<Case>,
): Promise<EvalReport> {
  const { name, trials = 1, passRate = 1, clock = systemClock, limits = {}, replay } = evaluation;
  const { concurrency = 4, trialMs = 600_000, cleanupMs = 5_000 } = limits;
  const [startedAt, startTime] = [clock.now(), new Date().toISOString()];
  const budget = new Budget(limits, clock, evaluation.signal);
  // Counts a resumed trial of unknown cost like the most expensive one, instead of ending the evaluation.
  for (const report of resumed) budget.spend(report, true);

  const runNext = async (): Promise<boolean> => {
    const next = budget.ended === undefined ? nextOf(plans) : undefined;
    if (next === undefined) return false;
    const { plan, number } = next;
    const { item } = plan;
    const own = kept?.find((trial) => trial.case === item.id && trial.number === number);
    const planned = {
      item,
      number,
      directory: files.folderOf(item.id, number),
      replay: own && { ...(replay === true ? {} : replay), directory: own.directory, timeout: own.timeout },
    };
    const { signal } = budget;
    const onSpent: TrialPorts["onSpent"] = (spent, brokeOff) => budget.spend(spent, brokeOff);
    const ports = { clock, trialMs, cleanupMs, signal, onSpent };
    const { report, isLasting = false } = (await runTrial(evaluation, planned, ports)) ?? {};
    if (report === undefined) {
      plan.end(undefined, false);
      return true;
    }
    const ended = await keepFiles(report, evaluation.keep);
    await files.endedOf(item)?.add(ended);
    plan.end(ended, isLasting);
    evaluation.onTrial?.(report, progressOf(plans, budget));
    return true;
  };
  const work = async (): Promise<void> => {
    while (await runNext());
  };
  try {
    await Promise.all(Array.from({ length: concurrency }, work));
  } finally {
    budget.release();
  }
  const { ended = "complete", spent } = budget;
  const durationMs = Math.round(clock.now() - startedAt);
  const facts = { name, trials, passRate, resumed: resumed.length, ended, startedAt: startTime, durationMs };
  return makeReport(plans, facts, spent);
}

type Options = EvalOptions & Pick<Evaluation, "name">;

/** Returns the kept trials to play. Undefined if the trials are new. */
async function keptTrials({ replay, directory, name }: Options): Promise<readonly KeptTrial[] | undefined> {
  if (replay === undefined) return undefined;
  const { directory: from, trials } = replay === true ? ({} as EvalReplay) : replay;
  const root = from ?? (directory === false ? undefined : rootOf(directory, name));
  if (root === undefined)
    throw invalidOption("replay.directory", "a folder with kept trials, because the option directory is false", from);
  const found = await findTrials(from === undefined ? join(root, "cases") : from);
  const missing = trials?.find((id) => !found.some((trial) => trial.id === id));
  if (missing !== undefined || found.length === 0)
    throw invalidOption(
      "replay",
      `trials that were kept in ${root} (${found.map(({ id }) => id).join(", ") || "none"})`,
      missing ?? replay,
    );
  return found.filter(({ id }) => trials === undefined || trials.includes(id));
}

async function chooseCases<Case extends EvalCase>(
  { name, cases, only }: Pick<Evaluation<Case>, "name" | "cases" | "only">,
  kept: readonly KeptTrial[] | undefined,
): Promise<readonly Case[]> {
  const all = await casesOf<Case>({ name, cases });
  const wanted = kept?.map((trial) => trial.case) ?? only;
  const unknown = wanted?.find((id) => !all.some((item) => item.id === id));
  if (unknown !== undefined)
    throw invalidOption(
      kept === undefined ? "only" : "replay",
      `cases of the evaluation: ${all.map(({ id }) => id).join(", ")}`,
      unknown,
    );
  const chosen = all.filter(
    ({ id }) => (wanted === undefined || wanted.includes(id)) && (only === undefined || only.includes(id)),
  );
  // Rejects an empty selection, because an evaluation without cases would pass.
  if (chosen.length === 0)
    throw invalidOption(only === undefined ? "replay" : "only", "at least one case that can run", only ?? wanted);
  return chosen;
}

function ruleOf(
  { trials = 1, passRate = 1, stopEarly = false }: EvalOptions,
  kept: readonly KeptTrial[] | undefined,
  id: string,
): CaseRule {
  const certainty = stopEarly === true ? 0.99 : stopEarly === false ? 1 : stopEarly;
  if (kept === undefined) return { trials, passRate, certainty };
  const replayed = kept.filter((trial) => trial.case === id).map(({ number }) => number);
  return { trials: replayed.length, passRate, certainty, replayed };
}

/** The page of the whole evaluation. */
export const reportPage = "report.html";

/** Returns the folder of an evaluation. */
export function rootOf(directory = ".turnwright/evals", name: string): string {
  return resolve(directory, fileNameOf(name));
}

/** The files of an evaluation. All methods do nothing if it writes none. */
interface Files {
  /** Allows one evaluation at a time. Throws an Error that is `isFolderBusy` while another one runs. */
  lock(): Promise<() => Promise<void>>;
  clear(caseIds: readonly string[]): Promise<void>;
  folderOf(caseId: string, number: number): string | undefined;
  /** The trials of the case that have ended. Undefined for a replay, which costs nothing and begins anew. */
  endedOf(item: EvalCase): EndedTrials | undefined;
  write(report: EvalReport): Promise<void>;
}

const nothing = async (): Promise<void> => {};

function filesOf({ directory, name, only, model }: Options, isReplay: boolean): Files {
  const none = (): undefined => undefined;
  if (directory === false) return { lock: async () => nothing, clear: nothing, folderOf: none, endedOf: none, write: nothing };
  const top = rootOf(directory, name);
  const root = join(top, isReplay ? "replay" : "");
  const folderOf = (caseId: string): string => join(root, "cases", fileNameOf(caseId));
  return {
    lock: () => lockFolder(top, name),
    // Removes files of earlier evaluations: their failed trials may pass now, and their cases may be gone.
    async clear(caseIds) {
      const paths = only === undefined ? [join(root, "cases")] : caseIds.map(folderOf);
      await Promise.all(paths.map((path) => rm(path, { recursive: true, force: true })));
    },
    folderOf: (caseId, number) => join(folderOf(caseId), String(number)),
    endedOf: (item) => (isReplay ? undefined : new EndedTrials(join(folderOf(item.id), "ended.jsonl"), item, model)),
    async write(report) {
      await mkdir(root, { recursive: true });
      await writeWhole(join(root, "report.json"), `${JSON.stringify(report, undefined, 2)}\n`);
      await writeWhole(join(root, reportPage), renderEvalPage(report, { folder: root }));
    },
  };
}

async function lockFolder(folder: string, name: string): Promise<() => Promise<void>> {
  await mkdir(folder, { recursive: true });
  try {
    return await lockFile({ path: folder, place: join(folder, "running") });
  } catch (error) {
    if (!isLoopError(error, "journal-locked")) throw error;
    const { pid, lockPath } = error.details;
    throw new Error(
      `The evaluation "${name}" is already running in ${folder} (process ${pid}). Wait until it ends, or choose another folder with the option "directory" or --directory. If it has ended, remove ${lockPath}.`,
      { cause: error },
    );
  }
}

/** True for the error of `evaluate` while another evaluation runs in the folder. */
export function isFolderBusy(error: unknown): boolean {
  return error instanceof Error && isLoopError(error.cause, "journal-locked");
}

/** Removes the files of a trial, or adds a page to those that are kept. */
async function keepFiles(report: TrialReport, keep: EvalOptions["keep"]): Promise<TrialReport> {
  const { directory, ...rest } = report;
  if (directory === undefined || keep === "all" || report.status !== "passed") return addPage(report);
  await rm(directory, { recursive: true, force: true });
  return rest;
}

/** Adds the page of the runs, if there is a log. */
async function addPage(report: TrialReport): Promise<TrialReport> {
  const { directory, id } = report;
  if (directory === undefined) return report;
  const text = await readFile(join(directory, trialFiles.log), "utf8").catch(unlessMissing);
  if (text === undefined) return report;
  const page = join(directory, trialFiles.page);
  await writeWhole(page, await renderRunPage({ name: id, text }));
  return { ...report, page };
}

/** Chooses a trial of the case with the fewest trials so far, so that a stopped evaluation has tried all cases alike. */
function nextOf<Case extends EvalCase>(
  plans: readonly CasePlan<Case>[],
): { readonly plan: CasePlan<Case>; readonly number: number } | undefined {
  const open = plans.filter((plan) => plan.isOpen);
  const [first] = open.sort((one, other) => one.begun - other.begun);
  return first && { plan: first, number: first.begin() };
}

function progressOf(
  plans: readonly CasePlan<EvalCase>[],
  { spent: { costUSD } }: Budget,
): Parameters<NonNullable<EvalOptions["onTrial"]>>[1] {
  const ended = plans.reduce((sum, { reports }) => sum + reports.length, 0);
  return { ended, total: plans.reduce((sum, plan) => sum + plan.expected, 0), costUSD };
}

/** The limits of an evaluation, and what it has spent. Its signal is aborted when a limit is reached. */
class Budget {
  spent = nothingSpent;
  /** Compared with `maxCostUSD`. */
  #spentUSD = 0;
  #dearestUSD = 0;
  #isUnpriced = false;
  ended: EndReason | undefined;
  readonly #limits: EvalLimits;
  readonly #stop = new AbortController();
  readonly #releases: (() => void)[] = [];

  constructor(limits: EvalLimits, clock: Clock, signal: AbortSignal | undefined) {
    this.#limits = limits;
    const { maxDurationMs = Number.POSITIVE_INFINITY } = limits;
    const timer = new IdleTimer(clock);
    timer.set(clock.now() + maxDurationMs, () => this.#end("max-duration"));
    this.#releases.push(() => timer.stop());
    // Checks the limits now, because the command line may pass limits that earlier evaluations have used up.
    this.#check();
    if (signal === undefined) return;
    this.#releases.push(onAbort(signal, () => this.#end("stopped")));
    if (signal.aborted) this.#end("stopped");
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  spend(spent: Spent, brokeOff: boolean): void {
    const { costUSD } = spent;
    this.spent = addSpent(this.spent, spent);
    // A failed request may have cost something, but must not end the evaluation, so it counts like the most expensive one so far.
    this.#dearestUSD = Math.max(this.#dearestUSD, costUSD ?? 0);
    this.#spentUSD += costUSD ?? this.#dearestUSD;
    if (costUSD === undefined && !brokeOff) this.#isUnpriced = true;
    this.#check();
  }

  #check(): void {
    const { maxCostUSD = Number.POSITIVE_INFINITY, maxTokens = Number.POSITIVE_INFINITY } = this.#limits;
    if (this.#isUnpriced && maxCostUSD < Number.POSITIVE_INFINITY) this.#end("cost-unknown");
    else if (this.#spentUSD >= maxCostUSD) this.#end("max-cost");
    else if (this.spent.tokens >= maxTokens) this.#end("max-tokens");
  }

  #end(ended: EndReason): void {
    this.ended ??= ended;
    this.#stop.abort(new DOMException(`The evaluation has ended (${this.ended}).`, "AbortError"));
  }

  release(): void {
    for (const release of this.#releases) release();
  }
}
