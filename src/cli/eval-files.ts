// Finds evaluation files and loads the evaluations that they export.

import { readdir, stat } from "node:fs/promises";
import { join, relative, resolve } from "node:path";
import { isRecord } from "../core/kit.ts";
import { defineEvaluation, type Evaluation } from "../evals/evaluation.ts";
import { CliError, messageOf, wrongUsage } from "./cli-io.ts";
import { importModule } from "./import-module.ts";

const isEvalFile = (name: string): boolean => /\.eval\.[cm]?[jt]s$/.test(name);

/** Returns the paths of the evaluation files, relative to `cwd`. A given path may be a folder. Without paths, searches `cwd`. */
export async function findEvalFiles(given: readonly string[], cwd: string): Promise<readonly string[]> {
  const found = await Promise.all((given.length === 0 ? ["."] : given).map((path) => listPath(path, cwd)));
  const files = [...new Set(found.flat())].map((path) => relative(cwd, path));
  if (files.length > 0) return files;
  const place = given.length === 0 ? "this folder" : given.join(", ");
  throw new CliError(`There are no evaluation files (such as support.eval.mjs) in ${place}. Pass the paths to the files.`, 2);
}

async function listPath(path: string, cwd: string): Promise<readonly string[]> {
  const full = resolve(cwd, path);
  const isFolder = await stat(full).then(
    (found) => found.isDirectory(),
    () => {
      throw wrongUsage(`There is no file ${path}.`);
    },
  );
  return isFolder ? walk(full) : [full];
}

async function walk(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const found = await Promise.all(
    entries.map(async (entry): Promise<readonly string[]> => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return entry.name === "node_modules" || entry.name.startsWith(".") ? [] : walk(path);
      return isEvalFile(entry.name) ? [path] : [];
    }),
  );
  return found.flat().sort();
}

/** An evaluation, and the file and export it comes from. */
export interface FoundEvaluation {
  readonly evaluation: Evaluation;
  /** The path of the file, relative to the working directory. */
  readonly file: string;
  readonly exportName: string;
}

/** Returns the evaluations that the files export, as default or named exports. */
export async function loadEvaluations(files: readonly string[], cwd: string): Promise<readonly FoundEvaluation[]> {
  const found = new Map<Evaluation, FoundEvaluation>();
  for (const file of files) {
    const exported = Object.entries(await importModule(file, cwd)).flatMap(([exportName, evaluation]) =>
      isEvaluation(evaluation) ? [{ evaluation: checkEvaluation(file, evaluation), file, exportName }] : [],
    );
    if (exported.length === 0)
      throw new CliError(`${file} exports no evaluation. Export the value that defineEvaluation returns.`);
    for (const one of exported) if (!found.has(one.evaluation)) found.set(one.evaluation, one);
  }
  const all = [...found.values()];
  const names = new Set<string>();
  for (const { name } of all.map(({ evaluation }) => evaluation)) {
    // Two evaluations with the same name would write their files to the same folder.
    if (names.has(name)) throw new CliError(`Two evaluations are named "${name}". Rename one of them.`);
    names.add(name);
  }
  return all;
}

/** True for an evaluation, even an incomplete one, so that an error can name the missing part. */
function isEvaluation(value: unknown): value is Evaluation {
  return isRecord(value) && "cases" in value && [value["run"], value["check"]].some((part) => typeof part === "function");
}

function checkEvaluation(file: string, evaluation: Evaluation): Evaluation {
  try {
    return defineEvaluation(evaluation);
  } catch (error) {
    throw new CliError(`${file}: ${messageOf(error)}.`, 1, { cause: error });
  }
}
