// What turnwright costs beside a minimal hand-written loop.
//
//   node run.js [--assert] [--write] [workload ...]
//
// --assert exits with 1 when a target is missed, --write puts the whole table into docs/performance.md. Build the library first.
//
// How it is measured. Each workload has a process of its own. In it the two loops read the same chunks from the same
// generators, call the same tool with the same zod schema and tell the same kind of listener. They are measured in turns, each
// going first in every other round, warm, on a heap swept before each turn (--expose-gc). A figure is CPU time (user and system,
// garbage collection included), not wall time unless the row says so; figures are medians of 7 rounds, and a ratio is the median
// of the ratios of the rounds, so that a noisy neighbour, who slows both alike, drops out. A workload that misses a target is
// measured once more: noise misses at random, a regression misses twice.
import { fork } from "node:child_process";
import { parseArgs } from "node:util";
import { writeTable } from "./src/document.js";
import { missesTarget, toTable } from "./src/row.js";

/** @typedef {import("./src/row.js").Row} Row */

const workloads = [
  "iterations",
  "growth",
  "replay",
  "deltas",
  "parallel",
  "cold-import",
  "first-runs",
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
const chosen = positionals.length > 0 ? positionals : workloads;
const unknown = chosen.filter((name) => !workloads.includes(name));
if (unknown.length > 0) throw new Error(`There is no workload ${unknown.join(", ")}; there are ${workloads.join(", ")}.`);

if (flags.write && positionals.length > 0) throw new Error("Only the whole table is written: leave the workloads out.");

/** @type {Row[]} */
const rows = [];
for (const workload of chosen) rows.push(...(await measureTwiceIfMissed(workload)));

const table = toTable(rows);
console.log(table);
if (flags.write) writeTable(table);
if (flags.assert && rows.some(missesTarget)) process.exitCode = 1;

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
  process.stderr.write(`measuring ${workload}\n`);
  return new Promise((resolve, reject) => {
    const child = fork(new URL("src/child.js", import.meta.url), [workload], {
      execArgv: ["--expose-gc"],
      serialization: "advanced", // "never" is Infinity, which JSON cannot say
    });
    child.once("message", (rows) => resolve(/** @type {readonly Row[]} */ (rows)));
    child.once("exit", (code) => reject(new Error(`${workload} ended with ${code} before it was measured.`)));
  });
}
