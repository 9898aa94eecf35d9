// Measures the wall time of an iteration with 64 parallel calls, each of which takes 20 ms.
import { compare, wallOf } from "../measure.js";
import { batchModel, sleep } from "../scripts.js";
import { minimalRun, turnwrightRun } from "../subjects.js";

const calls = 64;
const stream = batchModel(calls);

const slowForecast = async () => {
  await sleep(20);
  return { degrees: 7 };
};

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const { minimal, turnwright, ratio } = await compare(
    {
      minimal: minimalRun(stream, slowForecast),
      turnwright: turnwrightRun(stream, slowForecast, { limits: { toolConcurrency: calls } }),
    },
    wallOf,
  );
  return [
    {
      workload: "64 tools of 20 ms in one iteration, wall",
      unit: "ms",
      minimal,
      turnwright,
      ratio,
      target: { of: "turnwright", atMost: 25 },
    },
  ];
}
