// Runs the checks of the repository (the "gates"), three at a time, and prints how long each took. If the build fails, gates that
// need the build do not start. At the end, prints the output of each failed gate, and then the number of tests. `npm run check --
// types lint` runs only the named gates.

import { spawn } from "node:child_process";
import { existsSync, readdirSync, rmSync } from "node:fs";
import { delimiter, resolve } from "node:path";
import { findChromium, noChromium } from "../test/find-chromium.ts";
import { preparePrograms } from "./prepare-programs.ts";
import { programLoader } from "./program-loader.ts";
import { readJson } from "./read-json.ts";

interface Gate {
  readonly name: string;
  readonly command: string;
  /** The gates that must pass before this gate can start. */
  readonly after?: readonly string[];
  /** A file with the results of the tests. If a test in it failed, the gate fails, whatever the exit code is. */
  readonly report?: string;
}

interface Ended {
  readonly gate: Gate;
  readonly passed: boolean;
  readonly output: string;
}

/** The tests use all processors. Two other gates run at the same time, because some of these wait. */
const lanes = 3;
const reports = ".cache/tests";

const vitest = (report: string): string =>
  `vitest run --reporter=default --reporter=./scripts/rerun-reporter.ts --reporter=json --outputFile.json=${reports}/${report}.json`;

// TypeScript 7 takes a fifth of the time for a type check. The tools that build types and docs still need TypeScript 6's API.
// Several checkers would each check the types that they share, while other gates use the processors.
const tsc = "node node_modules/typescript-7/bin/tsc --checkers 1 -p";

const gates: readonly Gate[] = [
  // The tests take longest, and wait for processes at first. The other gates use this time, first those that also wait.
  { name: "tests", command: vitest("source"), report: "source" },
  { name: "build", command: "npm run --silent build" },
  { name: "examples", command: "tsx scripts/run-examples.ts" },
  {
    name: "package",
    command: `${vitest("package")} --config test/package/vitest.config.ts`,
    after: ["build"],
    report: "package",
  },
  { name: "types", command: `${tsc} .` },
  { name: "page", command: `${tsc} examples/web-chat/page` },
  { name: "inspector", command: `${tsc} src/inspect/ui` },
  { name: "playground", command: `${tsc} site/playground` },
  { name: "manifest", command: "tsx scripts/check-manifest.ts" },
  { name: "format", command: "oxfmt --check" },
  { name: "lint", command: "oxlint --deny-warnings" },
  { name: "source", command: "tsx scripts/check-source.ts" },
  { name: "language", command: "tsx scripts/check-language.ts" },
  { name: "layers", command: "depcruise src examples scripts test" },
  { name: "unused", command: "knip" },
  { name: "dead", command: "knip --production" },
  { name: "publint", command: "publint --strict", after: ["build"] },
  { name: "attw", command: "attw --pack . --profile node16", after: ["build"] },
  { name: "size", command: "tsx scripts/check-size.ts", after: ["build"] },
  { name: "snippets", command: "tsx scripts/check-snippets.ts" },
  { name: "tables", command: "tsx scripts/check-tables.ts" },
  { name: "links", command: "tsx scripts/check-links.ts" },
  { name: "reference", command: "typedoc --emit none" },
];

function runGate(gate: Gate): Promise<Ended> {
  const startedAt = performance.now();
  // If the programs are compiled, the scripts are too, and start in half of the time.
  const command = gate.command.replace(/^tsx (?=scripts\/)/, `node --import ${programLoader()} `);
  const [program = "", ...parameters] = command.split(" ");
  const child = spawn(program, parameters, {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      ...process.env,
      PATH: `${resolve("node_modules/.bin")}${delimiter}${process.env["PATH"] ?? ""}`,
      // Otherwise a gate that packs the package would run the build again, while other gates read its output.
      npm_config_ignore_scripts: "true",
      // The compilers and the linter are written in Go. Fewer threads and collections of garbage take less processor time.
      GOMAXPROCS: "1",
      GOGC: "200",
    },
    // On Windows, npm installs programs as scripts, which only a shell can start.
    shell: process.platform === "win32",
  });
  const chunks: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => chunks.push(chunk));
  return new Promise((settle, reject) => {
    child.on("error", reject);
    child.on("close", (code) => {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
      const passed = code === 0 && (gate.report === undefined || hasPassed(gate.report));
      console.log(`${passed ? "✓" : "✗"} ${gate.name.padEnd(10)}${seconds.padStart(6)} s`);
      settle({ gate, passed, output: Buffer.concat(chunks).toString("utf8") });
    });
  });
}

function hasPassed(report: string): boolean {
  const file = `${reports}/${report}.json`;
  return existsSync(file) && readJson<Report>(file).success;
}

async function runGates(chosen: readonly Gate[]): Promise<readonly Ended[]> {
  const waiting = new Set(chosen);
  const active = new Map<string, Promise<Ended>>();
  const red = new Map<string, Ended>();
  while (waiting.size + active.size > 0) {
    for (const gate of waiting) {
      const before = (gate.after ?? [])
        .map((name) => chosen.find((other) => other.name === name))
        .filter((other) => other !== undefined);
      if (before.some(({ name }) => red.has(name))) waiting.delete(gate);
      else if (active.size < lanes && !before.some((other) => waiting.has(other) || active.has(other.name))) {
        waiting.delete(gate);
        active.set(gate.name, runGate(gate));
      }
    }
    if (active.size === 0) continue;
    const ended = await Promise.race(active.values());
    active.delete(ended.gate.name);
    if (!ended.passed) red.set(ended.gate.name, ended);
  }
  return [...red.values()];
}

interface Report {
  readonly success: boolean;
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
}

function countTests(found: readonly string[]): string {
  const counted = found.map((file) => readJson<Report>(`${reports}/${file}`));
  const total = (field: Exclude<keyof Report, "success">): number => counted.reduce((sum, report) => sum + report[field], 0);
  const skipped = total("numPendingTests");
  return `${total("numPassedTests")} passed, ${total("numFailedTests")} failed${skipped > 0 ? `, ${skipped} skipped` : ""}`;
}

function chooseGates(wanted: readonly string[]): readonly Gate[] {
  const unknown = wanted.filter((name) => !gates.some((gate) => gate.name === name));
  if (unknown.length > 0)
    throw new Error(`Unknown gate: ${unknown.join(", ")}. Use one of these: ${gates.map(({ name }) => name).join(", ")}.`);
  return wanted.length === 0 ? gates : gates.filter(({ name }) => wanted.includes(name));
}

rmSync(reports, { recursive: true, force: true });
const chosen = chooseGates(process.argv.slice(2));
const needsPrograms = chosen.some(({ name }) => name === "tests" || name === "examples");
const removePrograms = needsPrograms ? await preparePrograms() : undefined;
const red = await runGates(chosen);
removePrograms?.();
for (const { gate, output } of red) {
  console.error(`\n${gate.name} (${gate.command}) failed:\n\n${output}`);
  process.exitCode = 1;
}
const found = existsSync(reports) ? readdirSync(reports) : [];
if (found.length > 0) console.log(countTests(found));
if (found.includes("source.json") && findChromium() === undefined) console.log(noChromium);
