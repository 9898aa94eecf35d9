import { maxTimerMs } from "../signals.ts";
import { describeValue } from "../texts.ts";
import { isRecord } from "../guards.ts";
import { memoize } from "../promises.ts";
import { type Advice, type AdvisedOption, edges } from "../edges.ts";
import { invalidOption, LoopError } from "./loop-error.ts";

/** The rule for a number. By default, the number must be whole and at most `Number.MAX_SAFE_INTEGER`, or `Infinity`. */
export interface NumberRule {
  readonly min: number;
  readonly max?: number | undefined;
  readonly fraction?: boolean | undefined;
  /** Set to false to reject `Infinity`. Default: `Infinity` is allowed, and means no limit. */
  readonly infinite?: false | undefined;
  /** The default for a run option. */
  readonly fallback?: number | undefined;
}

export const timeLimit: { readonly min: number; readonly max: number } = { min: 1, max: maxTimerMs };

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

/**
 * A check: the expected value in words, a function that returns true for a valid value, and a function that returns advice for an invalid
 * one. For some options, `edges.adviseOption` returns the advice instead. With `isNeeded`, the field must be present.
 */
export type Check = readonly [
  expected: string,
  fits: (value: unknown) => boolean,
  advise?: ((value: unknown) => Advice | undefined) | AdvisedOption | undefined,
  isNeeded?: true,
];

/** The allowed values, at least two. The first one is the default, if there is a default. */
export type Choice = readonly [first: string | number, second: string | number, ...others: (string | number)[]];

/** The rule for a value: a check, a number, a choice, or a flag's default. */
export type ValueRule = Check | NumberRule | Choice | boolean;

/** The rule for a field: the rule for its value, or the rules for the fields of an object. */
export type Rule = ValueRule | Fields;

/** The rules for an object's fields. The rule for "*" applies to all other names. */
export interface Fields {
  readonly [name: string]: Rule;
}

/** One rule for each field of `T`. A field without a rule does not compile. */
export type Checks<T> = { readonly [Key in keyof Required<T>]: Rule };

export const isFunction = (value: unknown): boolean => typeof value === "function";
export const isText = (value: unknown): value is string => typeof value === "string";

/** Checks for options of common types. */
export const is: { readonly [Kind in "any" | "text" | "texts" | "name" | "flag" | "fn" | "object"]: Check } = {
  any: ["anything", () => true],
  text: ["a string", isText],
  texts: ["an array of strings", (value) => Array.isArray(value) && value.every(isText)],
  name: ["a name", isFilled],
  flag: ["true or false", (value) => typeof value === "boolean"],
  fn: ["a function", isFunction],
  object: ["an object", isRecord],
};

/**
 * Creates a table of checks. Calls to this function are marked as pure. Otherwise, bundlers would keep an unused table that reads fields,
 * because the fields could be getters with side effects.
 */
export function table<T>(make: () => T): T {
  return make();
}

export function needed([expected, fits, advise]: Check): Check {
  return [expected, fits, advise, true];
}

export function isFields(rule: unknown): rule is Fields {
  return isRecord(rule) && typeof rule["min"] !== "number";
}

function isNeeded(rule: Rule | undefined): boolean {
  return Array.isArray(rule) && rule[3] === true;
}

export function toCheck(rule: ValueRule): Check {
  if (typeof rule === "boolean") return is.flag;
  if ("min" in rule) return [edges.describeRule?.(rule) ?? "another number", (value) => isWithin(value, rule)];
  if (isFunction(rule[1])) return rule as Check;
  const names = rule.map((value) => JSON.stringify(value));
  const last = names.pop();
  return [`${names.join(", ")} or ${last}`, (value) => (rule as readonly unknown[]).includes(value)];
}

/** The group of the top-level options. Error messages omit this name from an option's path. */
const top = "options";

/**
 * Throws LoopError "unknown-option" if a field of `value` is unknown, and "invalid-option" if a field breaks its rule or a needed
 * field is missing. Other absent fields pass. Unknown fields are reported first, because their error may name the field that is missing.
 */
export function checkFields(group: string, value: unknown, fields: Fields): void {
  if (!isRecord(value)) throw invalidOption(group, "an object", value);
  const ruleOf = (name: string): Rule | undefined => fields[Object.hasOwn(fields, name) ? name : "*"];
  const names = Object.keys(value);
  for (const name of names) if (ruleOf(name) === undefined) throw unknownOption(name, group, fields);
  // Adds the names of the required fields, because a class's getter is not an own field.
  for (const name of new Set([...names, ...neededIn(fields)])) {
    const rule = ruleOf(name);
    if (rule !== undefined) checkField(pathOf(group, name), value[name], rule);
  }
}

const neededIn = /* @__PURE__ */ memoize((fields: Fields) =>
  Object.keys(fields).filter((name) => name !== "*" && isNeeded(fields[name])),
);

/** Throws LoopError "invalid-option" if the value breaks the rule. An absent value passes, unless it is needed. */
export function checkField(option: string, value: unknown, rule: Rule): void {
  if (value === undefined && !isNeeded(rule)) return;
  if (isFields(rule)) return checkFields(option, value, rule);
  const check = toCheck(rule);
  if (!check[1](value)) throw refuseOption(option, check, value);
}

export function checkEither(group: string, value: object, names: readonly [string, string]): void {
  const given = names.filter((name) => Reflect.get(value, name) !== undefined).length;
  if (given === 1) return;
  const [first, second] = names.map((name) => JSON.stringify(name));
  throw new LoopError("invalid-option", {
    option: group,
    expected: "an object with exactly one of them",
    received: given === 0 ? `an object with neither ${first} nor ${second}` : `an object with both ${first} and ${second}`,
  });
}

/** Creates the LoopError "invalid-option" for a value that fails a check, with the check's advice. */
export function refuseOption(option: string, [expected, , advise]: Check, value: unknown): LoopError<"invalid-option"> {
  const advice = typeof advise === "string" ? edges.adviseOption?.(advise, value) : advise?.(value);
  const { received = describeValue(value), instead, hint = "" } = advice ?? {};
  return new LoopError("invalid-option", { option, expected: expected + hint, received, ...(instead && { instead }) });
}

function unknownOption(name: string, group: string, fields: Fields): LoopError<"unknown-option"> {
  const { nearest, instead } = edges.adviseName?.(name, fields) ?? {};
  const option = pathOf(group, name);
  return new LoopError("unknown-option", { option, nearest: nearest && pathOf(group, nearest), instead });
}

function pathOf(group: string, name: string): string {
  return group === top ? name : `${group}.${name}`;
}

/** True for a non-blank string. */
export function isFilled(value: unknown): boolean {
  return isText(value) && value.trim() !== "";
}
