// Runs every example in a separate process, without network. Each example asserts its result, so exit code 0 means that it works.

import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { bundleEntries } from "./bundle-entries.ts";
import { reportProblems } from "./report-problems.ts";

// An example shows the page of turnwright/inspect, which is built and not in the repository.
await import("./build-page.ts");
const removeBundle = await bundleEntries();

const timeoutMs = 60_000;

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
      // With CI set, examples use scripted models, even if the environment has API keys.
      env: { ...process.env, CI: "1" },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  return status === 0 ? [] : [`${path} ended with ${signal ?? status}:\n${stdout}${stderr}`];
}

const examples = findExamples();
const problems = examples.length === 0 ? ["There is no example to run."] : examples.flatMap(run);
removeBundle();
reportProblems(problems);
