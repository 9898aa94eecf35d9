// Measures one of the compared libraries and the minimal loop, in alternation. Sends the results to the parent process.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { cpuMs, median } from "../measure.js";
import { batchModel, callingModel, slowModel, sleep, talkingModel } from "../scripts.js";
import { forecast, minimalRun } from "../subjects.js";
import { peers } from "./table.js";

/**
 * @typedef {import("../measure.js").Task} Task
 * @typedef {import("./script.js").Work} Work
 * @typedef {import("./table.js").Figures} Figures
 */

const rounds = 5;
/** A task that takes longer than this is measured only once, without a warm-up. */
const patienceMs = 2000;
const warmUpMs = 2000;
/** The approximate duration of a round. Short tasks are repeated until a round takes this long. */
const roundMs = 300;

const slowForecast = async () => {
  await sleep(20);
  return { degrees: 7 };
};

const name = process.argv[2] ?? "";
const peer = peers[name];
if (peer === undefined) throw new Error(`There is no peer ${name}.`);
const figures = await measurePeer(peer);
process.send?.(figures, () => process.exit(0));

/**
 * @param {import("./table.js").PeerModule} module
 * @returns {Promise<Figures>}
 */
async function measurePeer({ file, export: made, package: imported }) {
  const { [made]: peerRun } = await import(file);
  const together = (/** @type {Task} */ task) => () => Promise.all(Array.from({ length: 1000 }, task));
  const pair = (/** @type {Work["stream"]} */ stream, /** @type {number} */ iterations, execute = forecast) => ({
    minimal: minimalRun(stream, execute),
    peer: peerRun({ stream, execute, iterations }),
  });
  const many = pair(slowModel(5, 5), 5);
  return {
    "iteration, 10 in a run, CPU": await ratioOf(pair(callingModel(10), 10)),
    "iteration, 100 in a run, CPU": await ratioOf(pair(callingModel(100), 100)),
    "iteration, 1,000 in a run, CPU": await ratioOf(pair(callingModel(1000), 1000)),
    "text delta, 10,000 in a run, CPU": await ratioOf(pair(talkingModel(10_000), 1)),
    "1,000 runs at once, 5 iterations of 5 ms latency, CPU": await ratioOf({
      minimal: together(many.minimal),
      peer: together(many.peer),
    }),
    "64 tools of 20 ms in one iteration, wall, ms": await wallMs(
      peerRun({ stream: batchModel(64), execute: slowForecast, iterations: 2 }),
    ),
    "first run of 3 iterations in a fresh process, wall, ms": median(Array.from({ length: rounds }, () => firstRunMs(name))),
    "import, CPU, ms": median(Array.from({ length: rounds }, () => importMs(imported) - importMs(undefined))),
  };
}

/**
 * Divides the CPU time of a library by the CPU time of the minimal loop, and returns the median over all rounds. The two take
 * turns in going first.
 *
 * @param {{ minimal: Task, peer: Task }} tasks
 */
async function ratioOf({ minimal, peer: task }) {
  const [minimalTimes, peerTimes] = [await timesFor(minimal), await timesFor(task)];
  const ratios = [];
  for (let round = 0; round < (peerTimes === 0 ? 1 : rounds); round += 1) {
    const isMinimalFirst = round % 2 === 0;
    const first = isMinimalFirst ? await cpuOfOne(minimal, minimalTimes) : await cpuOfOne(task, peerTimes);
    const second = isMinimalFirst ? await cpuOfOne(task, peerTimes) : await cpuOfOne(minimal, minimalTimes);
    ratios.push(isMinimalFirst ? second / first : first / second);
  }
  return median(ratios);
}

/**
 * Warms a task up. Returns how often each round executes the task, or 0 if the task is slow.
 *
 * @param {Task} task
 */
async function timesFor(task) {
  const start = cpuMs();
  await task();
  if (cpuMs() - start > patienceMs) return 0;
  const warmUp = cpuMs();
  while (cpuMs() - warmUp < warmUpMs) await task();
  const warm = cpuMs();
  let times = 0;
  while (cpuMs() - warm < roundMs) {
    await task();
    times += 1;
  }
  return times;
}

/**
 * @param {Task} task
 * @param {number} times
 */
async function cpuOfOne(task, times) {
  const count = Math.max(1, times);
  const start = cpuMs();
  for (let index = 0; index < count; index += 1) await task();
  return (cpuMs() - start) / count;
}

/** @param {Task} task */
async function wallMs(task) {
  await task();
  const times = [];
  for (let round = 0; round < rounds; round += 1) {
    const start = performance.now();
    await task();
    times.push(performance.now() - start);
  }
  return median(times);
}

/** @param {string} subject */
function firstRunMs(subject) {
  return Number(printed([fileURLToPath(new URL("first-run.js", import.meta.url)), subject]));
}

/** @param {string | undefined} imported the name of a package, or the URL of a file */
function importMs(imported) {
  const program = imported === undefined ? "" : `await import(${JSON.stringify(imported)});`;
  const report = fileURLToPath(new URL("../cold/report.cjs", import.meta.url));
  return Number(printed(["--require", report, "--input-type=module", "--eval", program])) / 1000;
}

/** @param {readonly string[]} args */
function printed(args) {
  const cwd = fileURLToPath(new URL("../..", import.meta.url));
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: "utf8", cwd });
  if (status !== 0) throw new Error(`A process failed: ${stderr}`);
  return stdout;
}
