// Saves a kept trial as a regression test.

import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, sep } from "node:path";
import { fileNameOf, type KeptTrial, trialFiles } from "./trial-files.ts";

export type TestRunner = "vitest" | "node:test";

/** The folder in which to save a trial, and the imports for its test. */
export interface SavePlace {
  /** The folder for the test and the trial's files. */
  readonly folder: string;
  /** The evaluation's file. */
  readonly evaluationFile: string;
  /** The name under which that file exports the evaluation. */
  readonly exportName: string;
  readonly runner: TestRunner;
}

/** Copies a trial's recording, and writes a test that replays it. Returns the test's path. Never replaces existing files. */
export async function saveTrial(trial: KeptTrial, { folder, evaluationFile, exportName, runner }: SavePlace): Promise<string> {
  const name = `${fileNameOf(trial.case)}-${trial.number}`;
  const files = join(folder, name);
  const test = join(folder, `${name}.test${evaluationFile.endsWith("ts") ? ".ts" : ".mjs"}`);
  await mkdir(folder, { recursive: true });
  await writeFile(test, writeTest(trial, { name, runner, exportName, from: toImport(folder, evaluationFile) }), { flag: "wx" });
  await mkdir(files);
  for (const file of [trialFiles.report, trialFiles.cassette]) await copyFile(join(trial.directory, file), join(files, file));
  return test;
}

function toImport(folder: string, file: string): string {
  const path = join(relative(folder, dirname(file)), basename(file))
    .split(sep)
    .join("/");
  return path.startsWith(".") ? path : `./${path}`;
}

interface TestFacts {
  readonly name: string;
  readonly from: string;
  readonly exportName: string;
  readonly runner: SavePlace["runner"];
}

function writeTest({ id }: KeptTrial, { name, from, exportName, runner }: TestFacts): string {
  const evaluation = exportName === "default" ? "evaluation" : `{ ${exportName} as evaluation }`;
  return `// Plays the trial ${JSON.stringify(id)} again, with the recorded answers of the model. It costs nothing.

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { evaluate } from "turnwright/evals";
import { it } from ${JSON.stringify(runner)};
import ${evaluation} from ${JSON.stringify(from)};

it(${JSON.stringify(`passes the trial ${id}`)}, async () => {
  const directory = fileURLToPath(new URL(${JSON.stringify(`./${name}/`)}, import.meta.url));
  const report = await evaluate(evaluation, { directory: false, replay: { directory, match: "order" } });
  const trial = report.cases[0]?.trials[0];
  assert.equal(trial?.status, "passed", JSON.stringify(trial, undefined, 2));
});
`;
}
