// What a number that somebody hands in must be: whole and within a range, or Infinity for none.

import { longestTimerMs } from "./clock.ts";

/** The range of a number, both ends included. */
export interface NumberRule {
  readonly min: number;
  readonly max?: number | undefined;
  /** Whether it need not be whole. Default false. */
  readonly fraction?: boolean | undefined;
}

/** What a time limit must be, in milliseconds. */
export const timeLimit: { readonly min: number; readonly max: number } = { min: 1, max: longestTimerMs };

/** Whether a value is a number within a rule, or Infinity. */
export function isWithin(value: unknown, { min, max = Number.MAX_SAFE_INTEGER, fraction }: NumberRule): boolean {
  if (value === Number.POSITIVE_INFINITY) return true;
  return (Number.isInteger(value) || fraction === true) && typeof value === "number" && value >= min && value <= max;
}

/** What a rule asks for, in words. */
export function describeRule({ min, max, fraction }: NumberRule): string {
  if (fraction === true) return `a number of at least ${min}, or Infinity`;
  return max === undefined
    ? `a whole number of at least ${min}, or Infinity`
    : `a whole number from ${min} to ${max}, or Infinity`;
}

/** What a time limit must be, where this value is none. */
export function findTimeoutProblem(value: unknown): string | undefined {
  return isWithin(value, timeLimit) ? undefined : describeRule(timeLimit);
}
