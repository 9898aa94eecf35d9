// Compares the CPU time of two functions. Measures both in every round, and returns the medians over all rounds.

/** @typedef {() => unknown} Task The function to measure. If it returns a promise, the promise is awaited. */
/** @typedef {{ minimal: number, turnwright: number, ratio: number }} Comparison */

export const rounds = 7;
/** The number of rounds before the measurement. Their times are not counted. */
export const warmUps = 2;

/** Returns the CPU time that this process has used so far, in milliseconds. */
export function cpuMs() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** @param {Task} task */
export async function cpuOf(task) {
  await settle(task);
  const start = cpuMs();
  await task();
  return cpuMs() - start;
}

/** @param {Task} task */
export async function wallOf(task) {
  await settle(task);
  const start = performance.now();
  await task();
  return performance.now() - start;
}

/**
 * Collects garbage, so that garbage of the previous task is not counted as a cost of this one. A collection also discards
 * compiled code. So the task runs twice afterwards, which compiles its functions again.
 *
 * @param {Task} task
 */
async function settle(task) {
  collectGarbage();
  await task();
  await task();
}

/**
 * Measures both tasks in each round. The tasks take turns in going first, so that noise affects both equally.
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

export function collectGarbage() {
  if (globalThis.gc === undefined) throw new Error("Run Node with --expose-gc.");
  globalThis.gc();
}
