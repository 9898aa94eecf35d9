// Implements `turnwright eval`, which runs evaluations, reports the results, and compares them with those of a different version.

import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname, join, relative, resolve } from "node:path";
import { isLoopError } from "../core/index.ts";
import { compareReports, type EvalComparison } from "../evals/compare-reports.ts";
import { evaluate } from "../evals/evaluate.ts";
import { casesOf, type EvalOptions, type EvalReport } from "../evals/evaluation.ts";
import { findTrials, isFolderBusy, type KeptTrial, reportPage, rootOf } from "../evals/trial-files.ts";
import { type SavePlace, saveTrial, type TestRunner } from "../evals/save-trial.ts";
import { findStray, traceTrials } from "../evals/stray-errors.ts";
import { renderEvalPage } from "../evals/reports/eval-page.ts";
import { toJUnitReport } from "../evals/reports/junit-report.ts";
import { toMarkdownReport } from "../evals/reports/markdown-report.ts";
import { writeProgress, writeTerminalReport } from "../evals/reports/terminal-report.ts";
import { countThings, joinTexts } from "../inspect/format.ts";
import { parseJson } from "../shared/json.ts";
import { recordOf, textOf, toPlainError, unlessMissing } from "../shared/plain-error.ts";
import { CliError, type CliIO, messageOf, wrongUsage } from "./cli-io.ts";
import { type Baseline, findBaseline, isIncomplete, saveBaseline } from "./eval-baseline.ts";
import { findEvalFiles, type FoundEvaluation, loadEvaluations } from "./eval-files.ts";
import { type EvalSettings, readEvalSettings } from "./eval-options.ts";
import { writePrivate } from "./log-files.ts";

/** An evaluation to run, with the options from the command line. */
interface Job extends FoundEvaluation {
  readonly options: EvalOptions;
  /** The kept trials to replay. Undefined for new trials. */
  readonly kept?: readonly KeptTrial[] | undefined;
}

interface Results {
  readonly reports: readonly EvalReport[];
  readonly comparisons: readonly EvalComparison[];
}

export async function runEvals(args: readonly string[], io: CliIO): Promise<void> {
  const settings = readEvalSettings(args);
  const { against, repeated } = settings;
  if (against !== undefined && settings.replay !== undefined)
    throw wrongUsage("--against needs new trials, so leave out --replay.");
  if (settings.baseline !== undefined && settings.replay !== undefined)
    throw wrongUsage("--save-baseline needs new trials, so leave out --replay.");
  const strays = catchStrays(io);
  const files = await findEvalFiles(settings.files, io.cwd);
  const jobs = await planJobs(await loadEvaluations(files, io.cwd), settings, io.cwd);
  if (settings.saveTest !== undefined) return saveTests(jobs, settings, io);
  const signal = io.stopSignal();
  const baseline = against === undefined ? undefined : await findBaseline({ against, files, args: repeated, signal }, io);
  try {
    const results = await runJobs(jobs, { settings, baseline, io, signal });
    await writeReports(results, settings, io);
    await writeBaseline(results, { settings, baseline, io, signal });
    judgeResults(results, { isCompared: baseline !== undefined, isStopped: signal.aborted, strays });
  } finally {
    await baseline?.remove();
  }
}

/** Ends a trial that caused an uncaught error; the other trials continue. Returns errors that belong to no trial. */
function catchStrays(io: CliIO): readonly string[] {
  const strays: string[] = [];
  if (io.catchErrors === undefined) return strays;
  traceTrials();
  io.catchErrors((error) => {
    const { trial, running } = findStray();
    if (trial?.fail(error) === true) return;
    const meanwhile = running.length === 0 ? "" : `, while these trials ran: ${running.join(", ")}`;
    const place = trial === undefined ? `outside the trials${meanwhile}` : `after the end of the trial ${trial.id}`;
    const stray = `${toPlainError(error).message} (${place})`;
    strays.push(stray);
    io.note(`Uncaught error: ${stray}`);
  });
  return strays;
}

/** Chooses each evaluation's cases or kept trials. Omits evaluations that have none. */
async function planJobs(evaluations: readonly FoundEvaluation[], settings: EvalSettings, cwd: string): Promise<readonly Job[]> {
  const { shared, replay, cases } = settings;
  const withPaths = evaluations.map((found): Job => {
    const own = settings.directory ?? found.evaluation.directory ?? ".turnwright/evals";
    return { ...found, options: { ...shared, directory: own === false ? false : resolve(cwd, own) } };
  });
  // Loads all cases before any trial runs, because a later error would waste the money spent on the trials.
  const known = await Promise.all(
    withPaths.map(async ({ evaluation, file }) => (await inFile(file, casesOf(evaluation))).map(({ id }) => id)),
  );
  if (replay !== undefined) return planReplays(withPaths, settings);
  if (cases === undefined) return withPaths;
  const chosen = withPaths.map((job, index) => {
    const only = cases.filter((id) => known[index]?.includes(id) === true);
    return { ...job, options: { ...job.options, only } };
  });
  const missing = cases.find((id) => !known.flat().includes(id));
  if (missing !== undefined) throw wrongUsage(`There is no case "${missing}" (known cases: ${known.flat().join(", ")}).`);
  return chosen.filter(({ options }) => options.only.length > 0);
}

/** Names the file in an error about an evaluation. */
async function inFile<T>(file: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    throw isLoopError(error) ? new CliError(`${file}: ${messageOf(error)}.`, 1, { cause: error }) : error;
  }
}

async function planReplays(jobs: readonly Job[], { replay, cases }: EvalSettings): Promise<readonly Job[]> {
  const wanted = replay?.trials;
  const kept = await Promise.all(
    jobs.map(async ({ evaluation, options: { directory } }) =>
      directory === false ? [] : findTrials(join(rootOf(directory, evaluation.name), "cases")),
    ),
  );
  const ids = kept.flat().map(({ id }) => id);
  const missing = wanted?.find((id) => !ids.includes(id));
  if (missing !== undefined) throw wrongUsage(`The trial "${missing}" was not kept (kept trials: ${ids.join(", ") || "none"}).`);
  const planned = jobs.flatMap((job, index): readonly Job[] => {
    const chosen = (kept[index] ?? []).filter(
      (trial) => (wanted?.includes(trial.id) ?? true) && (cases?.includes(trial.case) ?? true),
    );
    if (chosen.length === 0) return [];
    const trials = chosen.map(({ id }) => id);
    const from = replay?.from === undefined ? {} : { from: replay.from };
    return [{ ...job, kept: chosen, options: { ...job.options, replay: { trials, ...from } } }];
  });
  if (planned.length === 0) throw new CliError("No trial was kept. Run the evaluation first: trials that fail are kept.");
  return planned;
}

/** Writes a test for each kept trial, with its model's recording. */
async function saveTests(jobs: readonly Job[], { saveTest: folder = "", runner }: EvalSettings, io: CliIO): Promise<void> {
  const { cwd } = io;
  const place = { folder: resolve(cwd, folder), runner: runner ?? (await findRunner(cwd)) };
  for (const { file, exportName, kept = [] } of jobs)
    for (const trial of kept) {
      const path = await saveTest(trial, { ...place, evaluationFile: resolve(cwd, file), exportName });
      io.out(relative(cwd, path));
    }
}

async function saveTest(trial: KeptTrial, place: SavePlace): Promise<string> {
  try {
    return await saveTrial(trial, place);
  } catch (error) {
    const advice =
      recordOf(error)["code"] === "EEXIST" ? "Remove the test first, or choose another folder" : "Choose another trial";
    throw new CliError(`The trial "${trial.id}" cannot be saved: ${messageOf(error)}. ${advice}.`, 1, { cause: error });
  }
}

/** Returns the test runner that the nearest package.json names, if any. */
async function findRunner(folder: string): Promise<TestRunner> {
  const text = await readFile(join(folder, "package.json"), "utf8").catch(unlessMissing);
  const { scripts, dependencies, devDependencies } = recordOf(parseJson(text ?? ""));
  const test = textOf(recordOf(scripts)["test"]);
  if ([dependencies, devDependencies].some((packages) => "vitest" in recordOf(packages)) || test.includes("vitest"))
    return "vitest";
  return test.includes("--test") || dirname(folder) === folder ? "node:test" : findRunner(dirname(folder));
}

interface Work {
  readonly settings: EvalSettings;
  readonly baseline: Baseline | undefined;
  readonly io: CliIO;
  readonly signal: AbortSignal;
}

async function runJobs(jobs: readonly Job[], work: Work): Promise<Results> {
  const { baseline, io, signal } = work;
  const reports: EvalReport[] = [];
  const comparisons: EvalComparison[] = [];
  let spentUSD = baseline?.costUSD ?? 0;
  for (const job of jobs) {
    if (signal.aborted) break;
    const report = await runJob(job, spentUSD, work);
    reports.push(report);
    spentUSD += report.totals.knownCostUSD;
    const comparison = await compareWithBaseline(report, work);
    if (comparison !== undefined) comparisons.push(comparison);
    for (const line of writeTerminalReport(report, comparison)) io.out(line);
    await showPage(job, { report, comparison, io });
  }
  return { reports, comparisons };
}

async function compareWithBaseline(
  report: EvalReport,
  { settings: { maxDrop }, baseline, io }: Work,
): Promise<EvalComparison | undefined> {
  const before = baseline?.reports.find(({ name }) => name === report.name);
  if (baseline !== undefined && before === undefined) io.note(`${report.name} is new, so it is not compared.`);
  return before && compareReports(before, report, maxDrop === undefined ? {} : { maxDrop });
}

async function runJob({ evaluation, file, options }: Job, spentUSD: number, { settings, io, signal }: Work): Promise<EvalReport> {
  const { maxCostUSD } = settings;
  const limits = {
    ...options.limits,
    ...(maxCostUSD !== undefined && { maxCostUSD: Math.max(0, maxCostUSD - spentUSD) }),
  };
  const running = evaluate(evaluation, {
    ...options,
    limits,
    signal,
    onTrial(trial, progress) {
      evaluation.onTrial?.(trial, progress);
      io.note(writeProgress(trial, progress));
    },
  });
  return inFile(file, running).catch((error: unknown) => {
    throw isFolderBusy(error) ? new CliError(`${messageOf(error)}.`, 1, { cause: error }) : error;
  });
}

interface Page {
  readonly report: EvalReport;
  readonly comparison: EvalComparison | undefined;
  readonly io: CliIO;
}

/** Prints the path of the HTML page that `evaluate` has written. Writes the page again if it must also show a comparison. */
async function showPage({ evaluation, options }: Job, { report, comparison, io }: Page): Promise<void> {
  const { directory = false, replay } = options;
  if (directory === false) return;
  const folder = join(rootOf(directory, evaluation.name), replay === undefined ? "" : "replay");
  const path = join(folder, reportPage);
  if (comparison !== undefined) await writePrivate(path, renderEvalPage(report, { comparison, folder }));
  io.out(`Page: ${relative(io.cwd, path)}`);
  if (report.ended !== "complete" && replay === undefined)
    io.out("Continue with --resume: the trials that have ended do not run again.");
  if (report.totals.failed > 0 && replay === undefined)
    io.out(
      "Check the failed trials again at no cost with --replay, or continue with the model from an iteration, such as --from i1.",
    );
}

async function writeReports({ reports, comparisons }: Results, settings: EvalSettings, io: CliIO): Promise<void> {
  const options = { comparison: comparisons };
  const write = async (path: string | undefined, render: (folder: string) => string): Promise<void> => {
    if (path === undefined) return;
    const full = resolve(io.cwd, path);
    await mkdir(dirname(full), { recursive: true });
    await writePrivate(full, render(dirname(full)));
  };
  await write(settings.markdown, () => toMarkdownReport(reports, options));
  await write(settings.junit, () => toJUnitReport(reports));
  await write(settings.html, (folder) => renderEvalPage(reports, { ...options, folder }));
  const summary = io.env["GITHUB_STEP_SUMMARY"];
  if (summary === undefined || summary === "") return;
  try {
    await appendFile(summary, toMarkdownReport(reports, options));
  } catch (error) {
    io.note(`The job summary cannot be written: ${messageOf(error)}.`);
  }
}

/** Writes a baseline. Refuses an incomplete one, because a later comparison would treat its missing trials and cases as a difference. */
async function writeBaseline({ reports }: Results, { settings: { baseline }, io, signal }: Work): Promise<void> {
  if (baseline === undefined) return;
  if (!signal.aborted && !reports.some(isIncomplete)) return saveBaseline(resolve(io.cwd, baseline), reports);
  io.note(`The baseline ${baseline} was not written because not all trials have run. Run the evaluation to the end.`);
}

interface Circumstances {
  readonly isCompared: boolean;
  readonly isStopped: boolean;
  /** Uncaught errors that belong to no trial. */
  readonly strays: readonly string[];
}

/** Throws a CliError if the command must fail. In a comparison, cases that failed in the other version may fail again. */
function judgeResults({ reports, comparisons }: Results, { isCompared, isStopped, strays }: Circumstances): void {
  if (isStopped) throw new CliError("Stopped.");
  if (strays.length > 0) throw new CliError(`${countThings(strays.length, "error")} outside the trials: ${strays[0]}`);
  if (!isCompared) throwFor("failed", reports, ({ ok }) => !ok);
  throwFor(
    "had errors, or ended before all trials had run",
    reports,
    ({ ended, totals }) => ended !== "complete" || totals.errors > 0,
  );
  // If all trials of the other version failed with errors, for example because the API key is missing, nothing was compared, so the command
  // fails.
  throwFor("no case could be compared", comparisons, ({ passRate }) => passRate.before === undefined);
  throwFor("worse than before", comparisons, ({ isWorse }) => isWorse);
}

function throwFor<One extends { readonly name: string }>(what: string, all: readonly One[], isBad: (one: One) => boolean): void {
  const names = all.filter(isBad).map(({ name }) => name);
  if (names.length > 0) throw new CliError(`${joinTexts(names)}: ${what}.`);
}
