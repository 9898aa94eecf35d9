// Checks what deliberate mode is given: unknown keys, wrong types, numbers out of range.

import type { DeliberateModeOptions, DeliberateTurn } from "../../contract/deliberate.ts";
import { type Checks, checkFields, invalidOption } from "../../errors/check-fields.ts";
import { isRecord } from "../../kit/is-record.ts";

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
  checkFields("options", options, modeChecks);
  const { triggers } = options as DeliberateModeOptions;
  if (triggers === undefined) throw invalidOption("triggers", modeChecks.triggers[0], triggers);
  for (const [toolName, phrases] of Object.entries<unknown>(triggers)) {
    if (isText(phrases) || isTexts(phrases)) continue;
    throw invalidOption(`triggers.${toolName}`, "a string or an array of strings", phrases);
  }
}

/** Throws LoopError "unknown-option" or "invalid-option" where a turn cannot be judged. */
export function checkTurn(turn: unknown): asserts turn is DeliberateTurn {
  checkFields("options", turn, turnChecks);
  const { text } = turn as DeliberateTurn;
  if (text === undefined) throw invalidOption("text", turnChecks.text[0], text);
}
