// Statistics for trials: rates with intervals, pass@k and pass^k, the test for paired trials, and the decision to stop early.

/** The lower and upper ends of a 95% interval, from 0 to 1. */
export type Interval = readonly [low: number, high: number];

/** The 97.5% quantile of the normal distribution, for 95% intervals. */
const z = 1.959963984540054;

/**
 * Returns the 95% Wilson interval for a pass rate. With few trials, it is wide: 5 of 5 passed trials give 0.57 to 1. With no trials, it is
 * 0 to 1. Method: Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
 *
 * @example
 * const [low, high] = wilsonInterval(5, 5);
 */
export function wilsonInterval(passed: number, trials: number): Interval {
  if (trials === 0) return [0, 1];
  const rate = passed / trials;
  const square = z ** 2 / trials;
  const middle = (rate + square / 2) / (1 + square);
  const half = (z / (1 + square)) * Math.sqrt((rate * (1 - rate)) / trials + square / (4 * trials));
  return [passed === 0 ? 0 : middle - half, passed === trials ? 1 : middle + half];
}

/**
 * Returns pass@k: the probability that at least one of `k` trials passes. Unbiased if `trials` is at least `k`, otherwise undefined.
 * Method: Chen et al., "Evaluating large language models trained on code", 2021.
 *
 * @example
 * const chance = passAtK(3, 5, 2);
 */
export function passAtK(passed: number, trials: number, k: number): number | undefined {
  const allFail = passHatK(trials - passed, trials, k);
  return allFail === undefined ? undefined : 1 - allFail;
}

/**
 * Returns pass^k: the probability that all of `k` trials pass, for users who rely on every answer. Unbiased if `trials` is at least `k`,
 * otherwise undefined. Measure: Yao et al., "tau-bench", 2024.
 *
 * @example
 * const chance = passHatK(4, 5, 3);
 */
export function passHatK(passed: number, trials: number, k: number): number | undefined {
  if (k > trials) return undefined;
  let chance = 1;
  for (let drawn = 0; drawn < k; drawn += 1) chance *= Math.max(0, passed - drawn) / (trials - drawn);
  return chance;
}

/**
 * Returns the two-sided p-value of the exact McNemar test: how likely such a difference is if neither version is better. `worse` and
 * `better` count the pairs in which only the first or only the second version passed. Pairs with the same outcome are ignored.
 *
 * @example
 * const p = mcNemarTest(1, 9); // 0.021: the second version is better
 */
export function mcNemarTest(worse: number, better: number): number {
  const pairs = worse + better;
  let tail = 0;
  for (let count = 0; count <= Math.min(worse, better); count += 1) tail += Math.exp(logChoose(pairs, count) - pairs * Math.LN2);
  return Math.min(1, 2 * tail);
}

/** Returns the logarithm of the number of ways to choose `count` of `total` items. */
function logChoose(total: number, count: number): number {
  return logFactorial(total) - logFactorial(count) - logFactorial(total - count);
}

const logFactorials: number[] = [0];

function logFactorial(n: number): number {
  for (let next = logFactorials.length; next <= n; next += 1) logFactorials.push((logFactorials[next - 1] ?? 0) + Math.log(next));
  return logFactorials[n] ?? 0;
}

/** The facts about a case that are known after some of its trials. */
export interface Standing {
  readonly passed: number;
  readonly trials: number;
  /** The maximum number of trials for the case. */
  readonly maxTrials: number;
  /** How many of `maxTrials` must pass. */
  readonly needed: number;
}

/**
 * Returns the probability that enough trials will have passed in the end. The case's pass rate is unknown. At first, rates near 0 and 1 are
 * more likely than others, as in Jeffreys' prior, because most cases either work or do not. So the number of later passes has a
 * beta-binomial distribution.
 */
export function chanceOfPassing({ passed, trials, maxTrials, needed }: Standing): number {
  const left = maxTrials - trials;
  const failed = trials - passed;
  let chance = 0;
  // The logarithm of the probability that exactly `more` of the remaining trials pass. `more` starts at 0.
  let log = 0;
  for (let count = 0; count < left; count += 1) log += Math.log((failed + 0.5 + count) / (trials + 1 + count));
  for (let more = 0; more <= left; more += 1) {
    if (passed + more >= needed) chance += Math.exp(log);
    log += Math.log(((left - more) * (passed + 0.5 + more)) / ((more + 1) * (failed - 0.5 + left - more)));
  }
  return Math.min(1, chance);
}
