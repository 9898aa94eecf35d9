import { longestTimerMs } from "../cancellation/signals.ts";
import { describeValue } from "../utils/texts.ts";
import { isRecord } from "../utils/guards.ts";
import { type Advice, edges, type Replacement } from "../utils/edges.ts";
import { LoopError } from "./loop-error.ts";

export interface NumberRule {
  readonly min: number;
  readonly max?: number | undefined;
  readonly fraction?: boolean | undefined;
  /** Set to false to reject `Infinity`. Default: `Infinity` is allowed, and means no limit. */
  readonly infinite?: false | undefined;
}

export const timeLimit: { readonly min: number; readonly max: number } = { min: 1, max: longestTimerMs };

export function isWithin(
  value: unknown,
  { min, max = Number.MAX_SAFE_INTEGER, fraction, infinite }: NumberRule,
): value is number {
  if (value === Number.POSITIVE_INFINITY) return infinite !== false;
  return (Number.isInteger(value) || fraction === true) && typeof value === "number" && value >= min && value <= max;
}

export function describeRule({ min, max, fraction, infinite }: NumberRule): string {
  const number = fraction === true ? "a number" : "a whole number";
  const range = max === undefined ? `of at least ${min}` : `from ${min} to ${max}`;
  return `${number} ${range}${infinite === false ? "" : ", or Infinity"}`;
}

/** Returns undefined if the value is a valid time limit, otherwise the rule for time limits in words. */
export function findTimeoutProblem(value: unknown): string | undefined {
  return isWithin(value, timeLimit) ? undefined : describeRule(timeLimit);
}

/**
 * A check: the expected value in words, a function that returns true if a value fits, and a function that returns advice for a
 * value that does not fit.
 */
export type Check = readonly [
  expected: string,
  fits: (value: unknown) => boolean,
  advise?: (value: unknown) => Advice | undefined,
];

/** One check for each field of `T`. A field without a check does not compile. */
export type Checks<T> = { readonly [Key in keyof Required<T>]: Check };

export const isFunction = (value: unknown): boolean => typeof value === "function";
export const isText = (value: unknown): value is string => typeof value === "string";

/** Checks for options of common types. */
export const is: { readonly [Kind in "text" | "texts" | "name" | "flag" | "fn" | "object"]: Check } = {
  text: ["a string", isText],
  texts: ["an array of strings", (value) => Array.isArray(value) && value.every(isText)],
  name: ["a name", isFilled],
  flag: ["true or false", (value) => typeof value === "boolean"],
  fn: ["a function", isFunction],
  object: ["an object", isRecord],
};

export function numberWithin(rule: NumberRule): Check {
  return [describeRule(rule), (value) => isWithin(value, rule)];
}

/** Makes a check for one of several values. */
export function oneOf(...values: readonly unknown[]): Check {
  const names = values.map((value) => JSON.stringify(value));
  return [[names.slice(0, -1).join(", "), ...names.slice(-1)].join(" or "), (value) => values.includes(value)];
}

/** The group of the top-level options. Error messages omit this name from the path of an option. */
const top = "options";

/** Throws LoopError "unknown-option" or "invalid-option" if a field of `value` is unknown or fails its check. Absent fields pass. */
export function checkFields(group: string, value: unknown, checks: { readonly [key: string]: Check }): void {
  if (!isRecord(value)) throw invalidOption(group, "an object", value);
  for (const [name, field] of Object.entries(value)) {
    if (!Object.hasOwn(checks, name)) throw unknownOption(name, group, Object.keys(checks));
    const check = checks[name];
    if (field !== undefined && check?.[1](field) === false) throw refuseOption(pathOf(group, name), check, field);
  }
}

/** Throws LoopError "invalid-option" if a required option is missing. */
export function checkRequired<Options extends object>(
  options: Options,
  checks: Checks<Options>,
  names: readonly (keyof Options & string)[],
): void {
  for (const name of names) if (options[name] === undefined) throw refuseOption(name, checks[name], undefined);
}

/**
 * Throws LoopError "invalid-option" if the field `name` is missing. Does not throw if another field looks like a misspelling of
 * `name`, because the error "unknown-option" about the misspelt field is more helpful.
 */
export function checkNeeded(
  group: string,
  value: unknown,
  { name, check }: { readonly name: string; readonly check: Check },
): void {
  if (!isRecord(value) || value[name] !== undefined) return;
  const isMisspelt = Object.keys(value).some((key) => key !== name && edges.nearestName?.(key, [name]) !== undefined);
  if (!isMisspelt) throw invalidOption(pathOf(group, name), check[0], undefined);
}

export function checkEither(group: string, value: object, names: readonly [string, string]): void {
  const given = names.filter((name) => Reflect.get(value, name) !== undefined).length;
  if (given === 1) return;
  const expected = `an object with either ${names.map((name) => `"${name}"`).join(" or ")}`;
  throw new LoopError("invalid-option", {
    option: group,
    expected,
    received: given === 0 ? "an object with neither" : "an object with both",
  });
}

/** Makes the LoopError "invalid-option". The message names the type of the received value, never its content. */
export function invalidOption(option: string, expected: string, received: unknown): LoopError<"invalid-option"> {
  return new LoopError("invalid-option", { option, expected, received: describeValue(received) });
}

/** Makes the LoopError "invalid-option" for a value that fails a check, with the advice of the check. */
export function refuseOption(option: string, [expected, , advise]: Check, value: unknown): LoopError<"invalid-option"> {
  const advice = advise?.(value);
  const { received = describeValue(value), instead } = advice ?? {};
  return new LoopError("invalid-option", { option, expected, received, ...(instead === undefined ? {} : { instead }) });
}

export function unknownOption(name: string, group: string, known: readonly string[]): LoopError<"unknown-option"> {
  const { nearest = edges.nearestName?.(name, known), instead }: Partial<Replacement> = edges.replacementOf?.(name, known) ?? {};
  return new LoopError("unknown-option", {
    option: pathOf(group, name),
    nearest: nearest === undefined ? undefined : pathOf(group, nearest),
    instead,
  });
}

function pathOf(group: string, name: string): string {
  return group === top ? name : `${group}.${name}`;
}

/** True for a string that is not blank. */
export function isFilled(value: unknown): boolean {
  return typeof value === "string" && value.trim() !== "";
}
