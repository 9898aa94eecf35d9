// Measures leaks: heap memory and abort listeners that runs leave behind.
import { getEventListeners } from "node:events";
import { collectGarbage, repeat } from "../measure.js";
import { callingModel } from "../scripts.js";
import { forecast, minimalRun, turnwrightRun } from "../subjects.js";

const runs = 10_000;
const stream = callingModel(3);
const { signal } = new AbortController();

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  return [
    {
      workload: "heap left by a run, over 10,000 runs of 3 iterations",
      unit: "B",
      minimal: await bytesLeftBy(minimalRun(stream, forecast)),
      turnwright: await bytesLeftBy(turnwrightRun(stream, forecast, { signal })),
    },
    {
      workload: "listeners left on the caller's signal by 10,000 runs",
      unit: "",
      turnwright: getEventListeners(signal, "abort").length,
      target: { of: "turnwright", atMost: 0 },
    },
  ];
}

/** @param {import("../measure.js").Task} run */
async function bytesLeftBy(run) {
  await repeat(runs / 10, run)();
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  await repeat(runs, run)();
  collectGarbage();
  return Math.round((process.memoryUsage().heapUsed - before) / runs);
}
