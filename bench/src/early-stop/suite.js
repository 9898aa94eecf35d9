// The scripted suite of `stopEarly`: 40 cases, as agents that are worth an evaluation have them. Most always pass, some never do, and some
// are flaky. The outcome of each trial is fixed by a seed, so that 20 trials and fewer can be compared.
export const trials = 20;
export const passRate = 0.8;

/** The chance that a trial of a case passes. */
export const rates = [...Array(24).fill(1), ...Array(6).fill(0), 0.98, 0.97, 0.95, 0.95, 0.9, 0.7, 0.5, 0.4, 0.2, 0.1];

/**
 * A generator of pseudo-random numbers from 0 to 1 (mulberry32), so that the suite is the same in each run.
 *
 * @param {number} seed
 */
function createRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/**
 * The cases of a seed, with the outcomes of their trials.
 *
 * @param {number} seed
 */
export function createCases(seed) {
  const random = createRandom(seed);
  return rates.map((rate, index) => ({ id: `case-${index}`, outcomes: Array.from({ length: trials }, () => random() < rate) }));
}
