// Checks what deliberate mode is given: unknown keys, wrong types, numbers out of range.

import { checkFields, type Checks, invalidOption, is, isRecord, isText, numberWithin } from "../core/entry-kit.ts";
import type { DeliberateModeOptions, DeliberateTurn } from "./types.ts";

const modeChecks: Checks<DeliberateModeOptions> = {
  triggers: ["an object of tool names and their phrases", isRecord],
  retainTurns: numberWithin({ min: 0, max: 10, infinite: false }),
  followUps: is.texts,
  maxConversations: numberWithin({ min: 1, infinite: false }),
};

const turnChecks: Checks<DeliberateTurn> = {
  conversationId: ["a string that is not empty", (value) => isText(value) && value !== ""],
  text: is.text,
  recent: is.texts,
};

/** Throws LoopError "unknown-option" or "invalid-option" where there is no mode of these options. */
export function checkModeOptions(options: unknown): asserts options is DeliberateModeOptions {
  checkFields("options", options, modeChecks);
  const { triggers } = options as DeliberateModeOptions;
  if (triggers === undefined) throw invalidOption("triggers", modeChecks.triggers[0], triggers);
  for (const [toolName, phrases] of Object.entries<unknown>(triggers)) {
    if (isText(phrases) || is.texts[1](phrases)) continue;
    throw invalidOption(`triggers.${toolName}`, "a string or an array of strings", phrases);
  }
}

/** Throws LoopError "unknown-option" or "invalid-option" where a turn cannot be judged. */
export function checkTurn(turn: unknown): asserts turn is DeliberateTurn {
  checkFields("options", turn, turnChecks);
  const { text } = turn as DeliberateTurn;
  if (text === undefined) throw invalidOption("text", turnChecks.text[0], text);
}
