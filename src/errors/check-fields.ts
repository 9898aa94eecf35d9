// Looks at an object that a caller hands in, field by field: unknown names and wrong types are told at once.

import { describeValue } from "../kit/describe-value.ts";
import { isRecord } from "../kit/is-record.ts";
import { nearestName } from "../kit/nearest-name.ts";
import { LoopError } from "./loop-error.ts";

/** What a field must be, in words, and whether a value is that. */
export type Check = readonly [expected: string, fits: (value: unknown) => boolean];

/** One check for each field: a new field without one does not compile. */
export type Checks<T> = { readonly [Key in keyof Required<T>]: Check };

/** The group of the fields that stand at the top. */
const top = "options";

/** Throws LoopError "unknown-option" or "invalid-option" where a field of `value` is not what it must be. Absent fields pass. */
export function checkFields(group: string, value: unknown, checks: { readonly [key: string]: Check }): void {
  if (!isRecord(value)) throw invalidOption(group, "an object", value);
  for (const [name, field] of Object.entries(value)) {
    if (!Object.hasOwn(checks, name)) throw unknownOption(name, group, Object.keys(checks));
    const check = checks[name];
    if (field !== undefined && check?.[1](field) === false) throw invalidOption(pathOf(group, name), check[0], field);
  }
}

/** An option that cannot be run with; of what was received the error says the kind, never the content. */
export function invalidOption(option: string, expected: string, received: unknown): LoopError<"invalid-option"> {
  return new LoopError("invalid-option", { option, expected, received: describeValue(received) });
}

/** An option that does not exist, with the known one that was probably meant. */
export function unknownOption(name: string, group: string, known: readonly string[]): LoopError<"unknown-option"> {
  return new LoopError("unknown-option", { option: pathOf(group, name), nearest: nearestName(name, known) });
}

function pathOf(group: string, name: string): string {
  return group === top ? name : `${group}.${name}`;
}
