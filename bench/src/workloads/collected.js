// Measures an iteration directly after a garbage collection. A collection discards compiled code, as also happens in an idle
// server.
import { collectGarbage, compare } from "../measure.js";
import { callingModel } from "../scripts.js";
import { forecastLater, minimalRun, turnwrightRun } from "../subjects.js";

/** @typedef {import("../measure.js").Task} Task */

const iterations = 10;
const stream = callingModel(iterations);

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const { minimal, turnwright, ratio } = await compare(
    { minimal: minimalRun(stream, forecastLater), turnwright: turnwrightRun(stream, forecastLater) },
    wallAfterCollection,
  );
  return [
    {
      workload: "iteration after a forced collection, 10 in a run, wall",
      unit: "us",
      minimal: (minimal * 1000) / iterations,
      turnwright: (turnwright * 1000) / iterations,
      ratio,
      target: { of: "ratio", atMost: 12 },
    },
  ];
}

/**
 * Returns how long a task takes directly after a garbage collection, in milliseconds. The task has been warmed up.
 *
 * @param {Task} task
 */
async function wallAfterCollection(task) {
  for (let index = 0; index < 20; index += 1) await task();
  collectGarbage();
  const start = performance.now();
  await task();
  return performance.now() - start;
}
