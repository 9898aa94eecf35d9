// Runs every example in a separate process, without network. Each example asserts its result, so exit code 0 means that it works.

import { execFile } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { sharePostgres } from "../test/dbos/share-postgres.ts";
import { preparePrograms } from "./prepare-programs.ts";
import { programLoader } from "./program-loader.ts";
import { reportProblems } from "./report-problems.ts";

const removePrograms = await preparePrograms();

/** An example that takes seconds on a quiet machine may take minutes while other gates run. */
const timeoutMs = 300_000;

function findExamples(): readonly string[] {
  return readdirSync("examples", { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `examples/${entry.name}/main.ts` : `examples/${entry.name}`))
    .filter((path) => path.endsWith(".ts") && existsSync(path))
    .sort();
}

function run(path: string): Promise<readonly string[]> {
  const parameters = ["--import", programLoader(), "--import", "./scripts/forbid-network.ts", path];
  const options = {
    encoding: "utf8",
    timeout: timeoutMs,
    // With CI set, examples use scripted models, even if the environment has API keys.
    env: { ...process.env, CI: "1" },
  } as const;
  return new Promise((resolve) => {
    const child = execFile(process.execPath, parameters, options, (error, stdout, stderr) =>
      resolve(error === null ? [] : [`${path} ended with ${error.signal ?? error.code}:\n${stdout}${stderr}`]),
    );
    child.stdin?.end();
  });
}

/** Runs two examples at a time, because some examples mostly wait. */
async function runAll(examples: readonly string[]): Promise<readonly string[]> {
  const waiting = [...examples];
  const problems: string[] = [];
  const lane = async (): Promise<void> => {
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) problems.push(...(await run(path)));
  };
  await Promise.all([lane(), lane()]);
  return problems;
}

const examples = findExamples();
// Starting a server takes most of the time of an example that needs one.
const stopPostgres = process.env["TURNWRIGHT_POSTGRES_URL"] === undefined ? await sharePostgres() : undefined;
const problems = examples.length === 0 ? ["There is no example to run."] : await runAll(examples);
await stopPostgres?.();
removePrograms();
reportProblems(problems);
