// Measures a run with 200 calls whose results have 100 KB each.
import { compare } from "../measure.js";
import { callingModel } from "../scripts.js";
import { minimalRun, turnwrightRun } from "../subjects.js";

const results = 200;
const stream = callingModel(results + 1);

/** Returns a new array of 800 rows: about 100 KB of JSON. */
const report = () =>
  Array.from({ length: 800 }, (_, row) => ({
    row,
    city: "Oslo",
    degrees: row % 30,
    note: "Wind from the south-west, later turning to the west, with showers in the evening hours. ",
  }));

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const comparison = await compare({
    minimal: minimalRun(stream, report),
    turnwright: turnwrightRun(stream, report, { limits: { maxIterations: results + 1 } }),
  });
  return [{ workload: "200 results of 100 KB, CPU", unit: "ms", ...comparison, target: { of: "ratio", atMost: 2 } }];
}
