// Runs every example, each in a process of its own and without network. Each asserts its own ending, so exit code 0 means it held.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { reportProblems } from "./report-problems.ts";

const timeoutMs = 60_000;

/** `examples/*.ts` and the `main.ts` of each folder of examples. */
function findExamples(): readonly string[] {
  return readdirSync("examples", { withFileTypes: true })
    .map((entry) => (entry.isDirectory() ? `examples/${entry.name}/main.ts` : `examples/${entry.name}`))
    .filter((path) => path.endsWith(".ts") && existsSync(path))
    .sort();
}

function run(path: string): readonly string[] {
  const { status, signal, stdout, stderr } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--import", "./scripts/forbid-network.ts", path],
    {
      encoding: "utf8",
      timeout: timeoutMs,
      // So that they stay offline, whatever keys the shell holds.
      env: { ...process.env, CI: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  return status === 0 ? [] : [`${path} ended with ${signal ?? status}:\n${stdout}${stderr}`];
}

const examples = findExamples();
reportProblems(examples.length === 0 ? ["There is no example to run."] : examples.flatMap(run));
