// Counts the functions that a run with two requests and one call executes, with V8's coverage, in fresh processes.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("../cold/functions.js", import.meta.url));

/** @returns {Promise<readonly import("../row.js").Row[]>} */
export async function measureWorkload() {
  const [minimal, turnwright] = [count("minimal"), count("turnwright")];
  const target = /** @type {const} */ ({ of: "turnwright", atMost: 200 });
  const workload = "functions executed by a run with two requests and one call";
  return [{ workload, unit: /** @type {const} */ (""), minimal, turnwright, ratio: turnwright / minimal, target }];
}

/**
 * @param {"minimal" | "turnwright"} subject
 * @returns {number}
 */
function count(subject) {
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, subject], { encoding: "utf8" });
  if (status !== 0) throw new Error(`The run of ${subject} failed: ${stderr}`);
  return JSON.parse(stdout).functions;
}
