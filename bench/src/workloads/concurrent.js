// Measures the CPU time and the peak heap of 1,000 concurrent runs. Each run has 5 iterations, and the model waits 5 ms before
// each response.
import { collectGarbage, compare } from "../measure.js";
import { slowModel } from "../scripts.js";
import { forecast, minimalRun, turnwrightRun } from "../subjects.js";

/** @typedef {import("../measure.js").Task} Task */

const runs = 1000;
const stream = slowModel(5, 5);

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const minimal = together(minimalRun(stream, forecast));
  const turnwright = together(turnwrightRun(stream, forecast));
  return [
    {
      workload: "1,000 runs at once, 5 iterations of 5 ms latency, CPU",
      unit: "ms",
      ...(await compare({ minimal, turnwright })),
      target: { of: "ratio", atMost: 4 },
    },
    {
      workload: "1,000 runs at once, highest heap",
      unit: "MB",
      ...(await compare({ minimal, turnwright }, highestHeapOf)),
      target: { of: "turnwright", atMost: 40 },
    },
  ];
}

/**
 * @param {Task} task
 * @returns {Task}
 */
function together(task) {
  return () => Promise.all(Array.from({ length: runs }, task));
}

/**
 * Returns how far the heap grows while a task runs, in megabytes. Reads the heap size every millisecond.
 *
 * @param {Task} task
 */
async function highestHeapOf(task) {
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  let highest = before;
  const timer = setInterval(() => (highest = Math.max(highest, process.memoryUsage().heapUsed)), 1);
  await task();
  clearInterval(timer);
  return (highest - before) / 2 ** 20;
}
