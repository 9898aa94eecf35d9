// Measures an iteration with each of three tools. One tool is synchronous, one returns a resolved promise, and one waits.
import { compare, repeat } from "../measure.js";
import { callingModel } from "../scripts.js";
import { forecast, forecastAtOnce, forecastLater, minimalRun, turnwrightRun } from "../subjects.js";

/** @typedef {import("../row.js").Row} Row */

const iterationsPerRound = 5000;

const asynchronous = [
  { execute: forecastAtOnce, name: "tool with a resolved promise" },
  { execute: forecastLater, name: "tool that waits" },
];

/** @returns {Promise<readonly Row[]>} */
export async function measureWorkload() {
  const rows = [];
  for (const iterations of [10, 100, 1000, 5000]) {
    rows.push(await toRow({ iterations, execute: forecast, name: "synchronous tool", atMost: 5 }));
  }
  for (const tool of asynchronous) {
    for (const iterations of [10, 1000]) rows.push(await toRow({ iterations, ...tool, atMost: 5 }));
  }
  return rows;
}

/**
 * @param {{ iterations: number, execute: import("../subjects.js").Execute, name: string, atMost: number }} variant
 * @returns {Promise<Row>}
 */
async function toRow({ iterations, execute, name, atMost }) {
  const stream = callingModel(iterations);
  const runs = iterationsPerRound / iterations;
  const { minimal, turnwright, ratio } = await compare({
    minimal: repeat(runs, minimalRun(stream, execute)),
    turnwright: repeat(runs, turnwrightRun(stream, execute, { limits: { maxIterations: iterations } })),
  });
  return {
    workload: `iteration, ${name}, ${iterations.toLocaleString("en")} in a run`,
    unit: "us",
    minimal: (minimal * 1000) / iterationsPerRound,
    turnwright: (turnwright * 1000) / iterationsPerRound,
    ratio,
    target: { of: "ratio", atMost },
  };
}
