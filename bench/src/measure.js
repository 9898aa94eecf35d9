// How things are measured: CPU time of this process, in alternating rounds, as the median of the ratios.

/** @typedef {() => unknown} Task A thing to measure; its promise is awaited. */
/** @typedef {{ minimal: number, turnwright: number, ratio: number }} Comparison */

/** Rounds that count, as in the published table. */
export const rounds = 7;
/** Rounds before them that do not. */
export const warmUps = 2;

/** CPU time of this process so far in milliseconds, garbage collection included. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/**
 * CPU milliseconds of one warm task.
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
 * Wall milliseconds of one warm task.
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
 * Sweeps what the other task left. A sweep also throws away compiled code whose objects are all gone just now, as they never
 * are in a living process; running the task brings it back.
 *
 * @param {Task} task
 */
async function settle(task) {
  collectGarbage();
  await task();
  await task();
}

/**
 * Measures two tasks in turns, each going first in every other round, so that both meet the same noise.
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
 * Runs a task so many times, one after the other.
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
 * The value that a given share of the values lies below.
 *
 * @param {readonly number[]} values
 * @param {number} share 0 to 1
 */
export function quantile(values, share) {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const lower = sorted[Math.floor(position)] ?? Number.NaN;
  const upper = sorted[Math.ceil(position)] ?? Number.NaN;
  return lower + (upper - lower) * (position % 1);
}

/** Sweeps the heap; needs --expose-gc. */
export function collectGarbage() {
  if (globalThis.gc === undefined) throw new Error("Run with --expose-gc.");
  globalThis.gc();
}
