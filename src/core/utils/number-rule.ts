// What a number that somebody hands in must be: whole and within a range, or Infinity for none, where that is allowed.

import { longestTimerMs } from "./clock.ts";

/** The range of a number, both ends included. */
export interface NumberRule {
  readonly min: number;
  readonly max?: number | undefined;
  /** Whether it need not be whole. Default false. */
  readonly fraction?: boolean | undefined;
  /** Whether Infinity, for none, is in it. Default true. */
  readonly infinite?: false | undefined;
}

/** What a time limit must be, in milliseconds. */
export const timeLimit: { readonly min: number; readonly max: number } = { min: 1, max: longestTimerMs };

/** Whether a value is a number within a rule. */
export function isWithin(
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER, fraction, infinite }: NumberRule,
): value is number {
  if (value === Number.POSITIVE_INFINITY) return infinite !== false;
  return (Number.isInteger(value) || fraction === true) && typeof value === "number" && value >= min && value <= max;
}

/** What a rule asks for, in words. */
export function describeRule({ min, max, fraction, infinite }: NumberRule): string {
  const number = fraction === true ? "a number" : "a whole number";
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  return `${number} ${range}${infinite === false ? "" : ", or Infinity"}`;
}

/** What a time limit must be, where this value is none. */
export function findTimeoutProblem(value: unknown): string | undefined {
  return isWithin(value, timeLimit) ? undefined : describeRule(timeLimit);
}
