// Measures if iterations become slower in long runs. Compares long runs with short runs, and late iterations of one run with its
// early iterations.
import { collectGarbage, compare, cpuMs, quantile, rounds, warmUps } from "../measure.js";
import { callingModel } from "../scripts.js";
import { forecast, minimalRun, turnwrightRun } from "../subjects.js";

/**
 * @typedef {import("../row.js").Row} Row
 * @typedef {import("../subjects.js").Script} Script
 * @typedef {import("../measure.js").Task} Task
 * @typedef {(stream: Script) => Task} MakeRun
 */

const long = 5000;
const short = 100;
const stretch = 500;
const runsPerRound = 8;

/** @type {MakeRun} */
const minimal = (stream) => minimalRun(stream, forecast);
/** @type {MakeRun} */
const turnwright = (stream) => turnwrightRun(stream, forecast, { limits: { maxIterations: long } });

/** @returns {Promise<readonly Row[]>} */
export async function measureWorkload() {
  return [
    await toRow("time of an iteration: runs of 5,000 divided by runs of 100", longOverShort),
    await toRow("time of an iteration: last 500 of 5,000 divided by 100 to 600", lateOverEarly),
  ];
}

/**
 * @param {string} workload
 * @param {(makeRun: MakeRun) => Promise<number>} growthOf
 * @returns {Promise<Row>}
 */
async function toRow(workload, growthOf) {
  return {
    workload,
    unit: "x",
    minimal: await growthOf(minimal),
    turnwright: await growthOf(turnwright),
    target: { of: "turnwright", atMost: 1.3 },
  };
}

/** @param {MakeRun} makeRun */
async function longOverShort(makeRun) {
  const { ratio } = await compare({
    minimal: keeping((runsPerRound * long) / short, makeRun(callingModel(short))),
    turnwright: keeping(runsPerRound, makeRun(callingModel(long))),
  });
  return ratio;
}

/**
 * Runs a task `times` times, and keeps all results. Many short runs then use as much memory as one long run. Otherwise, garbage
 * collection would be cheaper for the short runs.
 *
 * @param {number} times
 * @param {Task} task
 * @returns {Task}
 */
function keeping(times, task) {
  return async () => {
    const results = [];
    for (let index = 0; index < times; index += 1) results.push(await task());
    return results;
  };
}

/**
 * Divides the cost of late iterations by the cost of early iterations in the same run. Uses the lower quartile of several runs,
 * because a garbage collection makes some of the runs slower.
 *
 * @param {MakeRun} makeRun
 */
async function lateOverEarly(makeRun) {
  /** @type {number[]} */
  const marks = [];
  const run = makeRun(clockedModel(marks));
  const early = [];
  const late = [];
  for (let round = -warmUps; round < rounds; round += 1) {
    collectGarbage();
    for (let index = 0; index < runsPerRound; index += 1) {
      marks.length = 0;
      await run();
      const [earlyStart = 0, earlyEnd = 0, lateStart = 0, lateEnd = 0] = marks;
      if (round < 0) continue;
      early.push(earlyEnd - earlyStart);
      late.push(lateEnd - lateStart);
    }
  }
  return quantile(late, 1 / 4) / quantile(early, 1 / 4);
}

/**
 * Like `callingModel`, but records the CPU time before and after the early iterations, and before and after the late iterations.
 * Appends these times to `marks`.
 *
 * @param {number[]} marks
 * @returns {Script}
 */
function clockedModel(marks) {
  const stream = callingModel(long);
  const noted = new Set([short, short + stretch, long - 1 - stretch, long - 1]);
  return (iteration) => {
    if (noted.has(iteration)) marks.push(cpuMs());
    return stream(iteration);
  };
}
