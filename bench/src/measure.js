// Compares the CPU time of two tasks in this process, in alternating rounds. The result is the median over all rounds.

/** @typedef {() => unknown} Task The function to measure. If it returns a promise, the promise is awaited. */
/** @typedef {{ minimal: number, turnwright: number, ratio: number }} Comparison */

/** The number of rounds that count. */
export const rounds = 7;
/** The number of warm-up rounds before the rounds that count. */
export const warmUps = 2;

/** Returns the CPU time in milliseconds that this process has used, including garbage collection. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * Returns the CPU time of one execution of a warm task, in milliseconds.
 *
 * @param {Task} task
 */
export async function cpuOf(task) {
  await settle(task);
  const start = cpuMs();
  await task();
  return cpuMs() - start;
}

/**
 * Returns the wall time of one execution of a warm task, in milliseconds.
 *
 * @param {Task} task
 */
export async function wallOf(task) {
  await settle(task);
  const start = performance.now();
  await task();
  return performance.now() - start;
}

/**
 * Collects garbage, so that the task does not pay for the garbage of the previous task. A collection also discards the compiled
 * code of idle functions, so the task then runs twice to compile its functions again.
 *
 * @param {Task} task
 */
async function settle(task) {
  collectGarbage();
  await task();
  await task();
}

/**
 * Measures both tasks in each round. They take turns in going first, so that noise affects both equally.
 *
 * @param {{ minimal: Task, turnwright: Task }} tasks
 * @param {(task: Task) => Promise<number>} [gauge]
 * @returns {Promise<Comparison>}
 */
export async function compare({ minimal, turnwright }, gauge = cpuOf) {
  const pairs = [];
  for (let round = -warmUps; round < rounds; round += 1) {
    const minimalFirst = round % 2 === 0;
    const first = await gauge(minimalFirst ? minimal : turnwright);
    const second = await gauge(minimalFirst ? turnwright : minimal);
    if (round >= 0) pairs.push(minimalFirst ? { minimal: first, turnwright: second } : { minimal: second, turnwright: first });
  }
  return {
    minimal: median(pairs.map((pair) => pair.minimal)),
    turnwright: median(pairs.map((pair) => pair.turnwright)),
    ratio: median(pairs.map((pair) => pair.turnwright / pair.minimal)),
  };
}

/**
 * Returns a task that runs another task `times` times, one after the other.
 *
 * @param {number} times
 * @param {Task} task
 * @returns {Task}
 */
export function repeat(times, task) {
  return async () => {
    for (let index = 0; index < times; index += 1) await task();
  };
}

/** @param {readonly number[]} values */
export function median(values) {
  return quantile(values, 1 / 2);
}

/**
 * Returns the value below which the given share of the values lies.
 *
 * @param {readonly number[]} values
 * @param {number} share a number from 0 to 1
 */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const lower = sorted[Math.floor(position)] ?? Number.NaN;
  const upper = sorted[Math.ceil(position)] ?? Number.NaN;
  return lower + (upper - lower) * (position % 1);
}

/** Collects garbage. Requires the flag --expose-gc. */
export function collectGarbage() {
  if (globalThis.gc === undefined) throw new Error("Run Node with --expose-gc.");
  globalThis.gc();
}
