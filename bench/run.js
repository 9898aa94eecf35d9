// Compares the cost of turnwright and of similar libraries ("peers") with the cost of a minimal hand-written loop.
//
//   node run.js [--assert] [--write] [workload ...]
//
// "loop" stands for all workloads of the table in docs/performance.md.
//
// Build the library before you run this program. `--assert` sets the exit code to 1 if a workload misses its target. `--write`
// writes the tables to docs/performance.md, docs/comparison.md and docs/guides/long-runs.md.
//
// Each workload runs in a separate process. Both loops use the same scripted model, the same tool and the same kind of listener.
// After a warm-up, both loops are measured in each of 7 rounds. The loops take turns in going first. A garbage collection precedes
// each measurement.
//
// The workloads "agents" and "evals" compare what features do, not what they cost.
//
// The tables show medians over the rounds. Times are CPU times, unless the row says "wall". CPU time includes garbage collection.
// A slow moment of the machine slows both loops down, so their ratio hardly changes.
//
// A workload that misses its target is measured a second time, because noise rarely causes two misses in a row.
import { fork } from "node:child_process";
import { parseArgs } from "node:util";
import { libraries, toFeatureTable } from "./src/agents/table.js";
import { libraries as evalLibraries, toEvalTable } from "./src/evals/table.js";
import { writeFigures, writePicture, writeTable } from "./src/document.js";
import { peers, toPeerTable } from "./src/peers/table.js";
import { missesTarget, toTable } from "./src/row.js";

/**
 * @typedef {import("./src/row.js").Row} Row
 * @typedef {import("./src/peers/table.js").Figures} Figures
 * @typedef {import("./src/agents/table.js").Cells} Cells
 */

const workloads = [
  "iterations",
  "growth",
  "replay",
  "deltas",
  "ui-messages",
  "readers",
  "parallel",
  "cold-import",
  "first-runs",
  "functions",
  "collected",
  "size",
  "concurrent",
  "large-results",
  "leftovers",
  "abort",
];

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: { assert: { type: "boolean" }, write: { type: "boolean" } },
});
/** These workloads have tables of their own. */
const alone = new Set(["peers", "agents", "evals", "early-stop", "durable", "inspect-page", "long-runs", "types"]);
const known = [...workloads, ...alone];
const named = positionals.flatMap((name) => (name === "loop" ? workloads : [name]));
const chosen = named.length > 0 ? named : known;
const unknown = chosen.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`Unknown workload: ${unknown.join(", ")}. Use one of these: loop, ${known.join(", ")}.`);

const tables = ["loop", ...alone];
if (flags.write && !positionals.every((name) => tables.includes(name)))
  throw new Error(`--write needs complete tables: name no workload, or only these: ${tables.join(", ")}.`);

/** @type {Row[]} */
const rows = [];
for (const workload of chosen) if (!alone.has(workload)) rows.push(...(await measureTwiceIfMissed(workload)));
if (rows.length > 0) {
  const table = toTable(rows);
  console.log(table);
  if (flags.write) writeTable("performance", table);
}
if (chosen.includes("peers")) {
  const table = toPeerTable(await measurePeers());
  console.log(table);
  if (flags.write) writeTable("comparison", table);
}
if (chosen.includes("agents")) {
  const table = toFeatureTable(await compareFeatures("src/agents/measure.js", Object.keys(libraries)));
  console.log(table);
  if (flags.write) writeTable("comparison", table, "agents");
}
if (chosen.includes("evals")) {
  const table = toEvalTable(await compareFeatures("src/evals/measure.js", Object.keys(evalLibraries)));
  console.log(table);
  if (flags.write) writeTable("comparison", table, "evals");
}
if (chosen.includes("early-stop")) {
  /** @type {{ readonly table: string, readonly differ: readonly string[] }} */
  const { table, differ } = await inProcess("src/early-stop/measure.js", "early-stop");
  console.log([table, ...differ].join("\n"));
  if (flags.write) writeFigures("performance", table, "early-stop");
}
if (chosen.includes("durable")) {
  /** @type {readonly Row[]} */
  const durable = await inProcess("src/durable/measure.js", "durable");
  rows.push(...durable);
  const table = toTable(durable, "");
  console.log(table);
  if (flags.write) writeTable("performance", table, "bench-durable");
}
if (chosen.includes("inspect-page")) {
  const page = await measureTwiceIfMissed("inspect-page");
  rows.push(...page);
  const table = toTable(page);
  console.log(table);
  if (flags.write) writeTable("performance", table, "bench-inspect-page");
}
if (chosen.includes("long-runs")) {
  /** @type {import("./src/long-runs/measure.js").LongRuns} */
  const { money, tokens, plot } = await inProcess("src/long-runs/measure.js", "long-runs");
  console.log(`${money}\n\n${tokens}`);
  if (flags.write) {
    writeFigures("guides/long-runs", money, "money");
    writeFigures("performance", tokens, "tokens");
    writePicture("guides/long-runs", plot);
  }
}
if (chosen.includes("types")) {
  /** @type {readonly Row[]} */
  const types = await inProcess("src/types/measure.js", "types");
  rows.push(...types);
  const table = toTable(types, "tools: Tool[]");
  console.log(table);
  if (flags.write) writeTable("performance", table, "bench-types");
}
if (flags.assert && rows.some(missesTarget)) process.exitCode = 1;

/** @returns {Promise<Record<string, Figures>>} */
async function measurePeers() {
  /** @type {Record<string, Figures>} */
  const all = {};
  for (const name of Object.keys(peers)) all[name] = await inProcess("src/peers/measure.js", name);
  return all;
}

/**
 * @param {string} program
 * @param {readonly string[]} names the names of the libraries
 */
async function compareFeatures(program, names) {
  /** @type {Record<string, Cells>} */
  const all = {};
  for (const name of names) all[name] = await inProcess(program, name);
  return all;
}

/** @param {string} workload */
async function measureTwiceIfMissed(workload) {
  const first = await measure(workload);
  if (!first.some(missesTarget)) return first;
  const second = await measure(workload);
  return first.map((row, index) => (missesTarget(row) ? (second[index] ?? row) : row));
}

/**
 * @param {string} workload
 * @returns {Promise<readonly Row[]>}
 */
function measure(workload) {
  return inProcess("src/child.js", workload);
}

/**
 * Measures a workload or a peer in a separate process, and returns its figures.
 *
 * @template Sent
 * @param {string} program
 * @param {string} subject the name of the workload or the peer
 * @returns {Promise<Sent>}
 */
function inProcess(program, subject) {
  process.stderr.write(`measuring ${subject}\n`);
  return new Promise((resolve, reject) => {
    const child = fork(new URL(program, import.meta.url), [subject], {
      execArgv: ["--expose-gc"],
      serialization: "advanced", // JSON cannot represent Infinity, which means "never"
    });
    child.once("message", (sent) => resolve(/** @type {Sent} */ (sent)));
    child.once("exit", (code) =>
      reject(new Error(`The process of ${subject} exited with code ${code} before it sent a measurement.`)),
    );
  });
}
