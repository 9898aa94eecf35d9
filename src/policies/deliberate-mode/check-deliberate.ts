// Checks what deliberate mode is given: unknown keys, wrong types, numbers out of range.

import type { DeliberateModeOptions, DeliberateTurn } from "../../contract/deliberate.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { describeValue } from "../../kit/describe-value.ts";
import { isRecord } from "../../kit/is-record.ts";
import { nearestName } from "../../kit/nearest-name.ts";

type Check = readonly [expected: string, fits: (value: unknown) => boolean];
type Checks<T> = { readonly [Key in keyof Required<T>]: Check };

const isText = (value: unknown): boolean => typeof value === "string";
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText);
const isWhole =
  (min: number, max: number) =>
  (value: unknown): boolean =>
    typeof value === "number" && Number.isInteger(value) && value >= min && value <= max;

const modeChecks: Checks<DeliberateModeOptions> = {
  triggers: ["an object of tool names and their phrases", isRecord],
  retainTurns: ["a whole number from 0 to 10", isWhole(0, 10)],
  followUps: ["an array of strings", isTexts],
  maxConversations: ["a whole number of at least 1", isWhole(1, Number.MAX_SAFE_INTEGER)],
};

const turnChecks: Checks<DeliberateTurn> = {
  conversationId: ["a string that is not empty", (value) => isText(value) && value !== ""],
  text: ["a string", isText],
  recent: ["an array of strings", isTexts],
};

/** Throws LoopError "unknown-option" or "invalid-option" where there is no mode of these options. */
export function checkModeOptions(options: unknown): asserts options is DeliberateModeOptions {
  checkFields(options, modeChecks, ["triggers"]);
  const { triggers } = options as DeliberateModeOptions;
  for (const [toolName, phrases] of Object.entries<unknown>(triggers)) {
    if (!isText(phrases) && !isTexts(phrases)) throw invalid(`triggers.${toolName}`, "a string or an array of strings", phrases);
  }
}

/** Throws LoopError "unknown-option" or "invalid-option" where a turn cannot be judged. */
export function checkTurn(turn: unknown): asserts turn is DeliberateTurn {
  checkFields(turn, turnChecks, ["text"]);
}

function checkFields(value: unknown, checks: { readonly [key: string]: Check }, required: readonly string[]): void {
  if (!isRecord(value)) throw invalid("options", "an object", value);
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(checks, name)) continue;
    throw new LoopError("unknown-option", { option: name, nearest: nearestName(name, Object.keys(checks)) });
  }
  for (const [name, [expected, fits]] of Object.entries(checks)) {
    const field = value[name];
    if (field === undefined ? required.includes(name) : !fits(field)) throw invalid(name, expected, field);
  }
}

function invalid(option: string, expected: string, received: unknown): LoopError<"invalid-option"> {
  return new LoopError("invalid-option", { option, expected, received: describeValue(received) });
}
