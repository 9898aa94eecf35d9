// Measures how the time of a function grows with its input.
// Timings belong in bench/ and not in tests, with this one exception. The library promises that no input of a model, a tool or a server
// makes a function take more than linear time. Only a measurement notices unexpected code that breaks this promise.

/** Makes an input of a size, and returns the work on it. The input must be new each time: engines cache results. */
export type Prepare = (size: number) => () => unknown;

/** Ten times the input may take this many times as long. Linear is 10, quadratic is 100. */
export const mostGrowth = 15;

const factor = 10;

/** Work is repeated until the growth is small enough: a linear function gets there, a quadratic one never does. */
const mostRounds = 15;

/** Rounds for a growth that is near the limit: on a busy machine, 15 can all be slow. */
const mostRoundsNear = 40;

/** Shorter times are too inexact, and are counted as this one. */
const leastMs = 10;

/** Returns how many times longer the work on ten times `size` takes: processor time, which excludes other processes, of the best of several rounds. */
export async function growthOf(prepare: Prepare, size: number): Promise<number> {
  let small = Number.POSITIVE_INFINITY;
  let large = Number.POSITIVE_INFINITY;
  let growth = Number.POSITIVE_INFINITY;
  const isOver = (round: number): boolean => round >= (growth < 3 * mostGrowth ? mostRoundsNear : mostRounds);
  for (let round = 0; !isOver(round) && growth >= mostGrowth; round += 1) {
    small = Math.min(small, await timeOf(prepare(size)));
    large = Math.min(large, await timeOf(prepare(size * factor)));
    growth = large / Math.max(small, leastMs);
  }
  return growth;
}

/** The processor time of the work, in milliseconds. */
export async function timeOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
