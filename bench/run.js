// What turnwright costs beside a minimal hand-written loop, and what its peers cost beside the same loop.
//
//   node run.js [--assert] [--write] [workload ...]
//
// --assert exits with 1 when a target is missed, --write puts the tables into docs/performance.md and docs/comparison.md. Build the
// library first. The workload "peers" runs each peer in a process of its own, in turns with the minimal loop.
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
import { peers, toPeerTable } from "./src/peers/table.js";
import { missesTarget, toTable } from "./src/row.js";

/**
 * @typedef {import("./src/row.js").Row} Row
 * @typedef {import("./src/peers/table.js").Figures} Figures
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
const known = [...workloads, "peers"];
const chosen = positionals.length > 0 ? positionals : known;
const unknown = chosen.filter((name) => !known.includes(name));
if (unknown.length > 0) throw new Error(`There is no workload ${unknown.join(", ")}; there are ${known.join(", ")}.`);

if (flags.write && positionals.some((name) => name !== "peers"))
  throw new Error("Only whole tables are written: leave the workloads out, or name peers alone.");

/** @type {Row[]} */
const rows = [];
for (const workload of chosen) if (workload !== "peers") rows.push(...(await measureTwiceIfMissed(workload)));
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
if (flags.assert && rows.some(missesTarget)) process.exitCode = 1;

/** @returns {Promise<Record<string, Figures>>} */
async function measurePeers() {
  /** @type {Record<string, Figures>} */
  const all = {};
  for (const name of Object.keys(peers)) all[name] = await inProcess("src/peers/measure.js", name);
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
 * What a process of its own sends.
 *
 * @template Sent
 * @param {string} program
 * @param {string} subject what it measures
 * @returns {Promise<Sent>}
 */
function inProcess(program, subject) {
  process.stderr.write(`measuring ${subject}\n`);
  return new Promise((resolve, reject) => {
    const child = fork(new URL(program, import.meta.url), [subject], {
      execArgv: ["--expose-gc"],
      serialization: "advanced", // "never" is Infinity, which JSON cannot say
    });
    child.once("message", (sent) => resolve(/** @type {Sent} */ (sent)));
    child.once("exit", (code) => reject(new Error(`${subject} ended with ${code} before it was measured.`)));
  });
}
