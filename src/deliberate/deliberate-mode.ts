// Deliberate tool mode: a tool is visible if the user's text contains a trigger of the tool, if the user asks to repeat the last
// request, or if the tool succeeded recently.

import {
  checkFields,
  type Checks,
  invalidOption,
  is,
  isRecord,
  isText,
  numberWithin,
  type TriggerMatch,
} from "../core/entry-kit.ts";
import type { DeliberateMode, DeliberateModeOptions, DeliberateTurn, DeliberateTurnGate } from "./types.ts";
import { createFollowUps, createRetention } from "./retention.ts";
import { createTriggerTable, type TriggerSearch } from "./trigger-table.ts";

const modeChecks: Checks<DeliberateModeOptions> = {
  triggers: ["an object with phrases by tool name", isRecord],
  retainTurns: numberWithin({ min: 0, max: 10, infinite: false }),
  followUps: is.texts,
  maxConversations: numberWithin({ min: 1, infinite: false }),
};

const turnChecks: Checks<DeliberateTurn> = {
  conversationId: ["a string that is not empty", (value) => isText(value) && value !== ""],
  text: is.text,
  recent: is.texts,
};

function checkModeOptions(options: unknown): asserts options is DeliberateModeOptions {
  checkFields("options", options, modeChecks);
  const { triggers } = options as DeliberateModeOptions;
  if (triggers === undefined) throw invalidOption("triggers", modeChecks.triggers[0], triggers);
  for (const [toolName, phrases] of Object.entries<unknown>(triggers)) {
    if (isText(phrases) || is.texts[1](phrases)) continue;
    throw invalidOption(`triggers.${toolName}`, "a string or an array of strings", phrases);
  }
}

function checkTurn(turn: unknown): asserts turn is DeliberateTurn {
  checkFields("options", turn, turnChecks);
  const { text } = turn as DeliberateTurn;
  if (text === undefined) throw invalidOption("text", turnChecks.text[0], text);
}

/** The maximum number of earlier texts to search after a follow-up phrase. Limits the cost of a turn. */
const longestLookBack = 20;

/**
 * Makes a deliberate tool mode, for any number of conversations. `forTurn` searches the user's text for triggers and returns the
 * gate of that turn. Pass the gate as `policies.gate`. The gate allows:
 *
 * - tools whose trigger is in the text,
 * - tools that succeeded in one of the last `retainTurns` turns of the conversation, and
 * - if the text is a follow-up phrase, the tools whose triggers are in the newest text that contains a trigger.
 *
 * A trigger has one of four forms. `remind me` matches whole words in upper and lower case. `remind*` matches the start of a
 * word. `^` always matches. `/remind(er)?s?/i` is a regular expression; the flags i, m, s and u are supported. A search with a
 * regular expression takes time proportional to the text, and the time per turn is limited. Invalid triggers are ignored and
 * listed in `problems`.
 *
 * The returned object remembers successes, for at most `maxConversations` conversations. Successes are not stored in a journal.
 *
 * `createDeliberateMode` and `forTurn` throw LoopError "invalid-option" or "unknown-option" if their argument is invalid.
 *
 * @example
 * const mode = createDeliberateMode({ triggers: { set_reminder: ["remind me", "reminder*"], get_time: "^" } });
 * const gate = mode.forTurn({ conversationId: "room-7", text: "Remind me to call Ada." });
 * await runToolLoop({ provider, tools, messages, policies: { gate } });
 */
export function createDeliberateMode(options: DeliberateModeOptions): DeliberateMode {
  checkModeOptions(options);
  const { triggers, retainTurns = 4, followUps, maxConversations = 10_000 } = options;
  const table = createTriggerTable(triggers);
  const repeats = createFollowUps(followUps);
  const retention = createRetention({ retainTurns, maxConversations });

  function forTurn(turn: DeliberateTurn): DeliberateTurnGate {
    checkTurn(turn);
    const remembered = retention.nextTurn(turn.conversationId);
    const matches = new Map<string, TriggerMatch>();
    const add = (found: ReadonlyMap<string, TriggerMatch>, source?: "follow-up" | "retained"): void => {
      for (const [name, match] of found) {
        if (!matches.has(name)) matches.set(name, source === undefined ? match : { ...match, source });
      }
    };
    const search = table.search();
    add(search.find(turn.text));
    if (repeats.isFollowUp(turn.text)) add(findLastAsked(search, turn.recent ?? []), "follow-up");
    add(remembered.retained, "retained");
    return {
      active: true,
      allowedNames: new Set(matches.keys()),
      triggerMatchByToolName: matches,
      unsearched: [...search.unsearched],
      retain(name) {
        const match = matches.get(name);
        if (match !== undefined) remembered.retain(name, match);
      },
    };
  }

  return { problems: [...table.problems, ...repeats.problems], forTurn };
}

/** Searches for the newest text that contains a trigger. Triggers that always match are ignored. */
function findLastAsked(search: TriggerSearch, recent: readonly string[]): ReadonlyMap<string, TriggerMatch> {
  for (const text of recent.slice(-longestLookBack).reverse()) {
    const asked = [...search.find(text)].filter(([, { source }]) => source !== "always");
    if (asked.length > 0) return new Map(asked);
  }
  return new Map();
}
