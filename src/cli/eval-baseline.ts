// Loads the reports to compare with: either from a stored baseline, or by running another commit's evaluations in a git worktree.

import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, stat, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, isAbsolute, join, relative, resolve, sep } from "node:path";
import { promisify } from "node:util";
import { isRecord } from "../core/kit.ts";
import type { EvalReport } from "../evals/evaluation.ts";
import { joinTexts } from "../inspect/format.ts";
import { parseJson } from "../shared/json.ts";
import { CliError, type CliIO, messageOf } from "./cli-io.ts";
import { writePrivate } from "./log-files.ts";

export interface Baseline {
  readonly reports: readonly EvalReport[];
  /** The cost of evaluating the other version now, in USD. 0 for a stored baseline. */
  readonly costUSD: number;
  /** Removes the temporary files, which contain the trials' logs. */
  remove(): Promise<void>;
}

export interface BaselinePlan {
  /** The path of a stored baseline, or a git reference. */
  readonly against: string;
  /** The files with evaluations, relative to the working directory. */
  readonly files: readonly string[];
  /** The other arguments passed to the commit's evaluations. */
  readonly args: readonly string[];
  readonly signal: AbortSignal;
}

/** Reads the stored baseline, or evaluates the commit if there is none. */
export async function findBaseline(plan: BaselinePlan, io: CliIO): Promise<Baseline> {
  const path = resolve(io.cwd, plan.against);
  if (await isThere(path, "file")) return { reports: await readBaseline(path, plan.against), costUSD: 0, remove: async () => {} };
  return evaluateCommit(plan, io);
}

async function isThere(path: string, kind: "file" | "folder"): Promise<boolean> {
  return stat(path).then(
    (found) => (kind === "file" ? found.isFile() : found.isDirectory()),
    () => false,
  );
}

/** Stores reports as a baseline. Makes the trials' paths relative to the baseline file, so that the file can be committed. */
export async function saveBaseline(path: string, reports: readonly EvalReport[]): Promise<void> {
  const saved = reports.map((report) => movePaths(report, (given) => relative(dirname(path), given)));
  await mkdir(dirname(path), { recursive: true });
  await writePrivate(path, `${JSON.stringify(saved.length === 1 ? saved[0] : saved, undefined, 2)}\n`);
}

async function readBaseline(path: string, given: string): Promise<readonly EvalReport[]> {
  const stored: unknown = parseJson(await readFile(path, "utf8"));
  const reports: readonly unknown[] = Array.isArray(stored) ? stored : [stored];
  if (!reports.every(isReport))
    throw new CliError(`${given} is not an evaluation report. Pass a report.json, or a file written by --save-baseline.`);
  const incomplete = reports.filter(isIncomplete).map(({ name }) => name);
  if (incomplete.length > 0)
    throw new CliError(
      `${given} cannot be used as a baseline: ${joinTexts(incomplete)} ended before all trials had run. Run that version's evaluation to the end.`,
    );
  return reports.map((report) => movePaths(report, (own) => resolve(dirname(path), own)));
}

export function isIncomplete({ ended }: EvalReport): boolean {
  return ended !== "complete";
}

function isReport(value: unknown): value is EvalReport {
  return (
    isRecord(value) &&
    value["format"] === "turnwright-evals" &&
    value["version"] === 1 &&
    isRecord(value["totals"]) &&
    Array.isArray(value["cases"])
  );
}

function movePaths(report: EvalReport, move: (path: string) => string): EvalReport {
  const cases = report.cases.map((one) => ({
    ...one,
    trials: one.trials.map(({ directory, page, ...trial }) => ({
      ...trial,
      ...(directory !== undefined && { directory: move(directory) }),
      ...(page !== undefined && { page: move(page) }),
    })),
  }));
  return { ...report, cases };
}

async function evaluateCommit({ against, files, args, signal }: BaselinePlan, io: CliIO): Promise<Baseline> {
  const { cwd } = io;
  const commit = await findCommit(against, cwd);
  const top = await git(["rev-parse", "--show-toplevel"], cwd);
  const prefix = await git(["rev-parse", "--show-prefix"], cwd);
  const folder = await mkdtemp(join(tmpdir(), "turnwright-eval-"));
  const tree = join(folder, "tree");
  const remove = async (): Promise<void> => {
    // Removes the folder first, because it may be incomplete. `prune` then makes git forget the worktree.
    await rm(folder, { recursive: true, force: true });
    await git(["worktree", "prune"], cwd);
  };
  try {
    await git(["worktree", "add", "--detach", tree, commit], cwd);
    const parts = prefix.split("/").filter((part) => part !== "");
    for (let depth = 0; depth <= parts.length; depth += 1) await linkModules({ top, tree }, join(...parts.slice(0, depth)));
    const place = join(tree, prefix);
    const known: string[] = [];
    for (const file of files) {
      if (await isThere(join(place, file), "file")) known.push(file);
      else io.note(`${against} does not have ${file}.`);
    }
    const saved = join(folder, "before.json");
    const own = [`--directory=${join(folder, "evals")}`, `--save-baseline=${saved}`, "--keep=all"];
    if (known.length > 0)
      await io.runSelf(["eval", ...args, ...own, "--", ...known], {
        cwd: place,
        // Does not write a job summary for the other version, because the summary describes the current one.
        env: { ...io.env, GITHUB_STEP_SUMMARY: undefined },
        note: (line) => io.note(`${against}: ${line}`),
        signal,
      });
    if (signal.aborted) throw new CliError("Stopped.");
    if (known.length > 0 && !(await isThere(saved, "file")))
      throw new CliError(`${against} could not be evaluated. See the lines above.`);
    const reports = known.length === 0 ? [] : await readBaseline(saved, saved);
    return { reports, costUSD: reports.reduce((sum, { totals }) => sum + totals.knownCostUSD, 0), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function findCommit(against: string, cwd: string): Promise<string> {
  try {
    return await git(["rev-parse", "--verify", "--quiet", "--end-of-options", `${against}^{commit}`], cwd);
  } catch (error) {
    throw new CliError(`${against} is neither a file nor a git commit.`, 2, { cause: error });
  }
}

const run = promisify(execFile);

async function git(args: readonly string[], cwd: string): Promise<string> {
  try {
    const { stdout } = await run("git", [...args], { cwd });
    return stdout.trim();
  } catch (error) {
    throw new CliError(`git ${args[0] ?? ""} failed: ${messageOf(error)}.`, 1, { cause: error });
  }
}

/** The folders of the repository and of its worktree. */
interface Trees {
  readonly top: string;
  readonly tree: string;
}

/**
 * Links the packages installed in a repository folder into the worktree. Packages from the repository itself, as in a workspace,
 * must come from the worktree. Otherwise the current version would be compared with itself.
 */
async function linkModules({ top, tree }: Trees, place: string): Promise<void> {
  const [from, to] = [join(top, place, "node_modules"), join(tree, place, "node_modules")];
  if (!(await isThere(from, "folder")) || (await isThere(to, "folder")) || !(await isThere(dirname(to), "folder"))) return;
  const packages = await Promise.all(
    (await listPackages(from)).map(async (name) => ({ name, path: relative(top, await realpath(join(from, name))) })),
  );
  const isOwn = ({ path }: { readonly path: string }): boolean =>
    !isAbsolute(path) && !path.split(sep).some((part) => part === ".." || part === "node_modules");
  if (!packages.some(isOwn)) return symlink(from, to, "junction");
  await mkdir(to);
  for (const one of packages) {
    await mkdir(dirname(join(to, one.name)), { recursive: true });
    await symlink(isOwn(one) ? join(tree, one.path) : join(from, one.name), join(to, one.name), "junction");
    if (isOwn(one)) await linkModules({ top, tree }, one.path);
  }
}

/** Returns the names of the packages, such as "@me/agent". A link to a package that no longer exists is omitted. */
async function listPackages(modules: string): Promise<readonly string[]> {
  const names = await readdir(modules);
  const scoped = names.map(async (name) =>
    name.startsWith("@") ? (await readdir(join(modules, name))).map((inner) => join(name, inner)) : [name],
  );
  const all = (await Promise.all(scoped)).flat();
  const areThere = await Promise.all(all.map((name) => isThere(join(modules, name), "folder")));
  return all.filter((_name, index) => areThere[index]);
}
