// Measures how long a run takes to end after the caller aborts it, if a tool or the model ignores the abort signal.
import { median, rounds } from "../measure.js";
import { callingModel, silentModel, sleep } from "../scripts.js";
import { forecast, minimalRun, turnwrightOptions } from "../subjects.js";
import { runToolLoop } from "../turnwright.js";

/**
 * @typedef {import("../row.js").Row} Row
 * @typedef {import("../subjects.js").Script} Script
 * @typedef {import("../subjects.js").Execute} Execute
 */

const patienceMs = 2000;
const deafForecast = () => sleep(10_000);

/** @returns {Promise<readonly Row[]>} */
export async function measureWorkload() {
  return [
    await toRow("from abort to end, a tool ignores the abort for 10 s, wall", callingModel(2), deafForecast),
    await toRow("from abort to end, a silent stream ignores the abort, wall", silentModel, forecast),
  ];
}

/**
 * @param {string} workload
 * @param {Script} stream
 * @param {Execute} execute
 * @returns {Promise<Row>}
 */
async function toRow(workload, stream, execute) {
  const options = turnwrightOptions(stream, execute);
  const samples = [];
  for (let round = 0; round < rounds; round += 1) {
    samples.push(await endAfterAbort((signal) => runToolLoop({ ...options, signal })));
  }
  // The minimal loop never ends after an abort, so one measurement is enough.
  const minimal = await endAfterAbort(minimalRun(stream, execute));
  return { workload, unit: "ms", minimal, turnwright: median(samples) };
}

/**
 * Aborts a run, and returns the milliseconds until the run ends. Returns Infinity if the run does not end in `patienceMs`.
 *
 * @param {(signal: AbortSignal) => unknown} run
 */
async function endAfterAbort(run) {
  const controller = new AbortController();
  const ended = Promise.resolve(run(controller.signal)).then(() => performance.now());
  await sleep(20);
  const aborted = performance.now();
  controller.abort();
  const end = await Promise.race([ended, sleep(patienceMs).then(() => Number.POSITIVE_INFINITY)]);
  return end - aborted;
}
