// Measures how the time of a function grows with its input. The library promises that no input from a model, a tool or a server
// takes more than linear time. Only a measurement finds code that breaks this promise. All other measurements of time belong in
// bench/.

/**
 * Creates an input of the given size, and returns the function to measure. Each call must create a new input, because engines cache
 * results.
 */
export type Prepare = (size: number) => () => unknown;

/**
 * The maximum factor by which the time may grow for an input ten times as large. Linear growth gives 10, and quadratic growth
 * gives 100.
 */
export const maxGrowth = 15;

const factor = 10;

/** The maximum number of measurements if the growth is far above `maxGrowth`. Then more measurements would not help. */
const maxRounds = 3;

/**
 * The maximum number of measurements if the growth is near `maxGrowth`. On a busy machine, even 15 measurements can all be too
 * slow.
 */
const maxRoundsNear = 40;

/** The shortest time in milliseconds. Shorter times are replaced with this time, because they cannot be measured exactly. */
const minMs = 10;

/**
 * Returns how many times longer the function takes if its input is ten times as large. Uses the best of several measurements of
 * processor time, which excludes other processes.
 */
export async function growthOf(prepare: Prepare, size: number): Promise<number> {
  let small = Number.POSITIVE_INFINITY;
  let large = Number.POSITIVE_INFINITY;
  let growth = Number.POSITIVE_INFINITY;
  const isOver = (round: number): boolean => round >= (growth < 3 * maxGrowth ? maxRoundsNear : maxRounds);
  for (let round = 0; !isOver(round) && growth >= maxGrowth; round += 1) {
    small = Math.min(small, await timeOf(prepare(size)));
    large = Math.min(large, await timeOf(prepare(size * factor)));
    growth = large / Math.max(small, minMs);
  }
  return growth;
}

export async function timeOf(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
