// Compares the costs of turnwright and of similar libraries ("peers") with a minimal hand-written loop.
//
//   node run.js [--assert] [--write] [workload ...]
//
// Build the library first. With --assert, the exit code is 1 if a target is missed. With --write, the tables are written to
// docs/performance.md and docs/comparison.md. The workload "peers" runs each peer in a separate process, alternating with the
// minimal loop.
//
// Method: Each workload runs in a separate process. turnwright and the minimal loop read the same chunks from the same
// generators, call the same tool with the same zod schema, and use the same kind of listener. Both loops are warmed up and then
// measured in 7 rounds. Each round measures both loops once, and they take turns in going first. Each measurement starts with a
// garbage collection (--expose-gc). Figures are CPU time (user and system, including garbage collection), unless the row says
// "wall". A ratio is computed for each round. All figures and ratios in the table are medians over the rounds. A slow moment of
// the machine slows both loops, so it hardly changes the ratio. A workload that misses a target is measured again: noise rarely
// causes two misses in a row, but a regression does.
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
if (unknown.length > 0) throw new Error(`Unknown workload: ${unknown.join(", ")}. Use one of these: ${known.join(", ")}.`);

if (flags.write && positionals.some((name) => name !== "peers"))
  throw new Error("--write needs a complete table: name no workload, or only the workload peers.");

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
 * Measures a workload or a peer in a separate process. Returns the figures that the process sends.
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
