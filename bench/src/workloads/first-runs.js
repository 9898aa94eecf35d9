// Measures how long the first two runs of a fresh process take, without the imports. The result is the median of several
// processes.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median, rounds } from "../measure.js";

const program = fileURLToPath(new URL("../cold/runs.js", import.meta.url));

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  /** @type {{ minimal: number[][], turnwright: number[][] }} */
  const samples = { minimal: [], turnwright: [] };
  for (let round = -1; round < rounds; round += 1) {
    for (const subject of /** @type {const} */ (["minimal", "turnwright"])) {
      const times = runsOf(subject);
      if (round >= 0) samples[subject].push(times);
    }
  }
  return ["first", "second"].map((which, index) => {
    const minimal = median(samples.minimal.map((times) => times[index] ?? Number.NaN));
    const turnwright = median(samples.turnwright.map((times) => times[index] ?? Number.NaN));
    const target = /** @type {const} */ ({ of: "turnwright", atMost: index === 0 ? 20 : 1.5 });
    const workload = `${which} run of 3 iterations in a fresh process, wall`;
    return { workload, unit: /** @type {const} */ ("ms"), minimal, turnwright, ratio: turnwright / minimal, target };
  });
}

/**
 * @param {"minimal" | "turnwright"} subject
 * @returns {number[]}
 */
function runsOf(subject) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, subject], { encoding: "utf8" });
  if (status !== 0) throw new Error(`The runs of ${subject} failed: ${stderr}`);
  return JSON.parse(stdout);
}
