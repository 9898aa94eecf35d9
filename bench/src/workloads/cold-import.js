// Measures the CPU time of an import in a fresh process. The CPU time of an empty process is subtracted. The result is the median
// of several measurements.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { median } from "../measure.js";
import { dist } from "../turnwright.js";

const rounds = 21;
const empty = new URL("../cold/empty.js", import.meta.url);
const report = fileURLToPath(new URL("../cold/report.cjs", import.meta.url));
const minimalLoop = new URL("../cold/minimal.js", import.meta.url);

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const [minimal, core, openai] = medianImports([minimalLoop, new URL("index.js", dist), new URL("openai.js", dist)]);
  const target = /** @type {const} */ ({ of: "turnwright", atMost: 10 });
  return [
    { workload: "cold import of the core (minimal: zod)", unit: "ms", minimal, turnwright: core ?? Number.NaN, target },
    { workload: "cold import of the openai entry (minimal: zod)", unit: "ms", minimal, turnwright: openai ?? Number.NaN },
  ];
}

/** @param {readonly URL[]} entries */
function medianImports(entries) {
  /** @type {number[][]} */
  const samples = entries.map(() => []);
  for (let round = -2; round < rounds; round += 1) {
    // Each process with an import is measured right before or after an empty process, so that a slow moment of the machine
    // affects both.
    entries.forEach((entry, index) => {
      const base = processMs(empty);
      const extra = processMs(entry) - base;
      if (round >= 0) samples[index]?.push(extra);
    });
  }
  return samples.map(median);
}

/** @param {URL} entry */
function processMs(entry) {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--require", report, fileURLToPath(entry)], {
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`Importing ${entry.pathname} failed: ${stderr}`);
  return Number(stdout) / 1000;
}
