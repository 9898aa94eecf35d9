// Runs an evaluation: plans its trials, enforces its limits, and reports the results.

import { join } from "node:path";
import type { Clock } from "../core/index.ts";
import { checkFields, invalidOption } from "../core/kit.ts";
import { IdleTimer, onAbort, systemClock } from "../shared/signals.ts";
import { casesOf, defineEvaluation, optionChecks } from "./evaluation.ts";
import type { EvalCase, EvalLimits, EvalOptions, EvalReplay, EvalReport, Evaluation, TrialReport } from "./evaluation.ts";
import { CasePlan, type CaseRule } from "./case-plan.ts";
import { makeReport } from "./make-report.ts";
import { renderEvalPage } from "./reports/eval-page.ts";
import { runTrial, type TrialPorts } from "./run-trial.ts";
import { addSpent, nothingSpent, type Spent } from "./spent.ts";
import { EvalFiles, findTrials, type KeptTrial, rootOf } from "./trial-files.ts";

type EndReason = EvalReport["ended"];

/**
 * Runs an evaluation and returns its report. Trials of different cases are interleaved, and up to `limits.concurrency` trials run at the
 * same time. `options` override the evaluation's options.
 *
 * A trial is a run, or whatever the `run` function does, in a fresh environment. With `trial.options`, each run has a journal, a log and a
 * recording of the model. Failed trials keep these files, in a folder for each trial.
 *
 * Rejects with LoopError "invalid-option" or "unknown-option", with disk errors, and with an Error while another evaluation with this name
 * is running in the folder. Errors in `setup`, `run` and `teardown` do not reject, but appear in the report.
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
  refuseResume(all);
  const files = all.directory === false ? undefined : new EvalFiles(all.directory, all);
  const plans = await planCases<Case>(all);
  const unlock = await files?.lock();
  try {
    const earlier = files === undefined ? [] : await beginFiles(all, plans, files);
    const report = await runPlans(all, { plans, files, earlier });
    await files?.write(report, (folder) => renderEvalPage(report, { folder }));
    return report;
  } finally {
    await unlock?.();
  }
}

interface Planned<Case extends EvalCase> {
  readonly plans: readonly CasePlan<Case>[];
  readonly files: EvalFiles | undefined;
  /** Trials from earlier processes, including those that must run again. */
  readonly earlier: readonly TrialReport[];
}

function refuseResume({ resume, directory, replay }: Options): void {
  if (resume !== true) return;
  if (replay !== undefined) throw invalidOption("resume", "false because a replay always starts from the beginning", resume);
  if (directory === false) throw invalidOption("resume", 'false because the option "directory" is false', resume);
}

/** Clears the folder, or lets the plans continue from the trials of earlier processes. Returns those trials. */
async function beginFiles(
  { resume }: Options,
  plans: readonly CasePlan<EvalCase>[],
  files: EvalFiles,
): Promise<readonly TrialReport[]> {
  if (resume !== true) {
    await files.clear(plans.map(({ item }) => item.id));
    return [];
  }
  const found = plans.map(async (plan) => {
    const reports = await files.resume(plan.item);
    plan.resume(reports);
    return reports;
  });
  return (await Promise.all(found)).flat();
}

async function runPlans<Case extends EvalCase, Result, World>(
  evaluation: Evaluation<Case, Result, World>,
  { plans, files, earlier }: Planned<Case>,
): Promise<EvalReport> {
  const { name, trials = 1, passRate = 1, clock = systemClock, limits = {}, replay } = evaluation;
  const { concurrency = 4, trialMs = 600_000, cleanupMs = 5_000 } = limits;
  const [startedAt, startTime] = [clock.now(), new Date().toISOString()];
  const budget = new Budget(limits, clock, evaluation.signal);
  // Assumes that an earlier trial of unknown cost cost as much as the most expensive one so far, instead of ending the evaluation.
  for (const report of earlier) budget.spend(report, true);
  const resumed = plans.reduce((sum, { reports }) => sum + reports.length, 0);

  const runNext = async (): Promise<boolean> => {
    const next = budget.ended === undefined ? nextOf(plans) : undefined;
    if (next === undefined) return false;
    const { item } = next;
    const { number, kept } = next.begin();
    const played = kept && { ...(replay === true ? {} : replay), directory: kept.directory, timeout: kept.timeout };
    const planned = { item, number, directory: files?.folderOf(item.id, number), replay: played };
    const { signal } = budget;
    const onSpent: TrialPorts["onSpent"] = (spent, brokeOff) => budget.spend(spent, brokeOff);
    const ports = { clock, trialMs, cleanupMs, signal, onSpent };
    const { report, isLasting = false } = (await runTrial(evaluation, planned, ports)) ?? {};
    if (report === undefined) {
      next.end(undefined, false);
      return true;
    }
    const ended = (await files?.end(item, report)) ?? report;
    next.end(ended, isLasting);
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
  const facts = { name, trials, passRate, resumed, ended, startedAt: startTime, durationMs };
  const report = makeReport(plans, facts, spent);
  return { ...report, warnings: [...report.warnings, ...findUncounted(report, limits)] };
}

/** Warns about a limit that cannot end the evaluation, because the model is called outside the trial's runs. */
function findUncounted({ cases }: EvalReport, { maxCostUSD, maxTokens }: EvalLimits): readonly string[] {
  const judged = cases.flatMap(({ trials }) => trials).filter(({ status }) => status !== "error");
  const isCounted = judged.length === 0 || judged.some(({ endings }) => endings.length > 0);
  if (isCounted || (maxCostUSD ?? maxTokens) === undefined) return [];
  return [
    "No trial has passed trial.options to the loop, so tokens and costs are not counted, and limits.maxCostUSD and limits.maxTokens have no effect.",
  ];
}

type Options = EvalOptions & Pick<Evaluation, "name">;

/** Returns the kept trials to replay, or undefined if the trials are new. */
async function keptTrials({ replay, directory, name }: Options): Promise<readonly KeptTrial[] | undefined> {
  if (replay === undefined) return undefined;
  const { directory: from, trials } = replay === true ? ({} as EvalReplay) : replay;
  const root = from ?? (directory === false ? undefined : rootOf(directory, name));
  if (root === undefined)
    throw invalidOption("replay.directory", 'a folder with kept trials because the option "directory" is false', from);
  const found = await findTrials(from === undefined ? join(root, "cases") : from);
  const missing = trials?.find((id) => !found.some((trial) => trial.id === id));
  if (missing !== undefined || found.length === 0)
    throw invalidOption(
      "replay",
      `one of the trials kept in ${root} (${found.map(({ id }) => id).join(", ") || "none"})`,
      missing ?? replay,
    );
  return found.filter(({ id }) => trials === undefined || trials.includes(id));
}

async function planCases<Case extends EvalCase>(
  options: Options & Pick<Evaluation<Case>, "cases">,
): Promise<readonly CasePlan<Case>[]> {
  const kept = await keptTrials(options);
  return (await chooseCases<Case>(options, kept)).map((item) => new CasePlan(item, ruleOf(options, kept, item.id)));
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
      `one of the evaluation's case ids: ${all.map(({ id }) => id).join(", ")}`,
      unknown,
    );
  const chosen = all.filter(
    ({ id }) => (wanted === undefined || wanted.includes(id)) && (only === undefined || only.includes(id)),
  );
  // Rejects an empty selection, because an evaluation without cases would pass.
  if (chosen.length === 0)
    throw invalidOption(only === undefined ? "replay" : "only", "an array with at least one case that can run", only ?? wanted);
  return chosen;
}

function ruleOf(
  { trials = 1, passRate = 1, stopEarly = false }: EvalOptions,
  all: readonly KeptTrial[] | undefined,
  id: string,
): CaseRule {
  const certainty = stopEarly === true ? 0.997 : stopEarly === false ? 1 : stopEarly;
  const kept = all?.filter((trial) => trial.case === id);
  return { trials: kept?.length ?? trials, passRate, certainty, kept };
}

/** Chooses the case with the fewest trials so far, so that an evaluation that is stopped early has tried all cases about equally often. */
function nextOf<Case extends EvalCase>(plans: readonly CasePlan<Case>[]): CasePlan<Case> | undefined {
  return plans.filter((plan) => plan.isOpen).sort((one, other) => one.begun - other.begun)[0];
}

function progressOf(
  plans: readonly CasePlan<EvalCase>[],
  { spent: { costUSD } }: Budget,
): Parameters<NonNullable<EvalOptions["onTrial"]>>[1] {
  const ended = plans.reduce((sum, { reports }) => sum + reports.length, 0);
  return { ended, total: plans.reduce((sum, plan) => sum + plan.expected, 0), costUSD };
}

/** Tracks an evaluation's limits and what it has spent. Aborts its signal when a limit is reached. */
class Budget {
  spent = nothingSpent;
  /** The cost so far, including estimates for failed requests. It is compared with `maxCostUSD`. */
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
    // A failed request may have cost something. An unknown cost must not end the evaluation, so it counts as much as the most expensive one
    // so far.
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
