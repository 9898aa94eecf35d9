import { checkFields, type Checks, invalidOption, is, isRecord, isToolRegistry, needed } from "../../core/kit.ts";
import type { TriggerMatch } from "../../core/types/loop-event.ts";
import type { ToolDefinition, ToolRegistry } from "../../core/index.ts";
import type { DeliberateGate } from "../../core/types/middleware-options.ts";
import { isText } from "../../shared/errors/check-fields.ts";
import { createTriggerTable, type TriggerProblem, type TriggerSearch, readText } from "./trigger-table.ts";

const englishFollowUps: readonly string[] = [
  "again",
  "again please",
  "and again",
  "another",
  "another one",
  "another one please",
  "do it again",
  "do it again please",
  "do it once more",
  "do it one more time",
  "do that again",
  "do that again please",
  "do that once more",
  "do the same",
  "do the same again",
  "do this again",
  "once again",
  "once more",
  "once more please",
  "one more",
  "one more please",
  "one more time",
  "one more time please",
  "please do it again",
  "please do that again",
  "please try again",
  "redo",
  "redo it",
  "redo that",
  "repeat",
  "repeat it",
  "repeat that",
  "retry",
  "run it again",
  "same again",
  "same again please",
  "same thing again",
  "the same again",
  "try again",
  "try again please",
  "try it again",
  "try once more",
  "try that again",
];

interface FollowUps {
  readonly problems: readonly TriggerProblem[];
  isFollowUp(text: string): boolean;
}

function createFollowUps(phrases: readonly string[] = englishFollowUps): FollowUps {
  const problems: TriggerProblem[] = [];
  const known = new Set<string>();
  for (const trigger of phrases) {
    const words = foldWords(trigger);
    if (words === "") problems.push({ toolName: undefined, trigger, problem: "contains no word" });
    else known.add(words);
  }
  return { problems, isFollowUp: (text) => known.has(foldWords(text)) };
}

function foldWords(text: string): string {
  return (readText(text).match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []).join(" ").toLowerCase();
}

interface RetentionLimits {
  readonly retainTurns: number;
  readonly maxConversations: number;
}

interface RememberedTurn {
  readonly retained: ReadonlyMap<string, TriggerMatch>;
  /** Remembers that a tool succeeded in this turn, even if later turns have begun. */
  retain(name: string, match: TriggerMatch): void;
}

interface Retention {
  nextTurn(conversationId: string | undefined): RememberedTurn;
}

interface Conversation {
  turn: number;
  readonly successes: Map<string, Success>;
}

interface Success {
  readonly turn: number;
  readonly match: TriggerMatch;
}

const nothing: RememberedTurn = { retained: new Map(), retain: () => {} };

function createRetention({ retainTurns, maxConversations }: RetentionLimits): Retention {
  /** The conversations by id, least recently used first. */
  const conversations = new Map<string, Conversation>();

  function open(id: string): Conversation {
    const conversation = conversations.get(id) ?? { turn: 0, successes: new Map() };
    conversations.delete(id);
    conversations.set(id, conversation);
    for (const oldest of conversations.keys()) {
      if (conversations.size <= maxConversations) break;
      conversations.delete(oldest);
    }
    return conversation;
  }

  function nextTurn(conversationId: string | undefined): RememberedTurn {
    if (conversationId === undefined || retainTurns === 0) return nothing;
    const conversation = open(conversationId);
    const { successes } = conversation;
    conversation.turn += 1;
    const { turn } = conversation;
    for (const [name, success] of successes) if (turn - success.turn > retainTurns) successes.delete(name);
    return {
      retained: new Map([...successes].map(([name, { match }]) => [name, match])),
      retain(name, match) {
        const known = successes.get(name);
        if (known === undefined || known.turn < turn) successes.set(name, { turn, match });
      },
    };
  }

  return { nextTurn };
}

/** The options for `createDeliberateMode`. */
export interface DeliberateModeOptions {
  /**
   * The triggers of each tool, by tool name. A tool is visible if the user's text contains one of its triggers. A tool that has
   * triggers neither in this option nor in `tools` is never visible. Required without `tools`.
   */
  readonly triggers?: { readonly [toolName: string]: string | readonly string[] } | undefined;
  /**
   * Tools that declare `triggers`, as an array or a registry. The declarations are read once. Triggers in the `triggers` option
   * replace those that the tool of the same name declares. Required without `triggers`.
   */
  readonly tools?: readonly Pick<ToolDefinition, "name" | "triggers">[] | ToolRegistry | undefined;
  /** The number of turns for which a tool stays visible after it succeeded. An integer from 0 to 10. Default 4. */
  readonly retainTurns?: number | undefined;
  /**
   * Follow-up phrases. If a user's text consists of the words of a follow-up phrase, the tools from the previous request are
   * visible again. Default: English phrases, such as "do it again".
   */
  readonly followUps?: readonly string[] | undefined;
  /** The maximum number of conversations to remember. The least recently used conversation is dropped first. Default 10,000. */
  readonly maxConversations?: number | undefined;
}

/** Shows tools only if the user asks for them. Created by `createDeliberateMode`. */
export interface DeliberateMode {
  /** The invalid triggers, which are ignored. */
  readonly problems: readonly TriggerProblem[];
  /** Creates the gate for one turn. Each call to `forTurn` begins a new turn in the conversation. */
  forTurn(turn: DeliberateTurn): DeliberateTurnGate;
}

/** The argument of `forTurn`. */
export interface DeliberateTurn {
  /** The id of the conversation. Without an id, no tool stays visible after it succeeded. */
  readonly conversationId?: string | undefined;
  /** The user's text in this turn. */
  readonly text: string;
  /**
   * Earlier user messages as text, oldest first. If the newest message is a follow-up such as "go on", the last 20 are searched, newest
   * first. The first one that contains a trigger determines the visible tools.
   */
  readonly recent?: readonly string[] | undefined;
}

/** Decides which tools are visible in one turn. Pass the gate to `gateTools`. */
export interface DeliberateTurnGate extends DeliberateGate {
  readonly active: true;
  /** The names of the visible tools. */
  readonly allowedNames: ReadonlySet<string>;
  /** The trigger that made each tool visible, by tool name. */
  readonly triggerMatchByToolName: ReadonlyMap<string, TriggerMatch>;
  /**
   * The regular expressions that were not applied to all of the text, because the turn's time limit was reached. Usually empty.
   */
  readonly unsearched: readonly string[];
  /** Keeps a tool visible in the following turns. The loop calls `retain` for each tool that succeeded in this turn. */
  retain(name: string): void;
}

const modeChecks: Checks<DeliberateModeOptions> = {
  triggers: ["an object that maps tool names to phrases", isRecord],
  tools: ["an array of tools or a registry", (value) => isToolRegistry(value) || isTools(value)],
  retainTurns: { min: 0, max: 10, infinite: false },
  followUps: is.texts,
  maxConversations: { min: 1, infinite: false },
};

function isTools(value: unknown): boolean {
  return Array.isArray(value) && value.every((tool) => isRecord(tool) && isText(tool["name"]));
}

const turnChecks: Checks<DeliberateTurn> = {
  conversationId: ["a non-empty string", (value) => isText(value) && value !== ""],
  text: /* @__PURE__ */ needed(is.text),
  recent: is.texts,
};

function checkModeOptions(options: unknown): asserts options is DeliberateModeOptions {
  checkFields("options", options, modeChecks);
  const { triggers, tools } = options as DeliberateModeOptions;
  if (triggers === undefined && tools === undefined)
    throw invalidOption("triggers", "an object that maps tool names to phrases", triggers);
}

type Triggers = NonNullable<DeliberateModeOptions["triggers"]>;

/**
 * Returns the triggers of each tool. Returns a map, because a tool may have the name of a property that all objects have, such as
 * "constructor".
 */
function readTriggers({ triggers = {}, tools = [] }: DeliberateModeOptions): ReadonlyMap<string, Triggers[string]> {
  const found = new Map<string, Triggers[string]>();
  const add = (path: string, name: string, phrases: unknown): void => {
    if (!isText(phrases) && !isTexts(phrases)) throw invalidOption(path, "a string or an array of strings", phrases);
    found.set(name, phrases);
  };
  for (const { name, triggers: declared } of isToolRegistry(tools) ? tools.definitions() : tools)
    if (declared !== undefined) add(`tools.${name}.triggers`, name, declared);
  for (const [name, phrases] of Object.entries<unknown>(triggers)) add(`triggers.${name}`, name, phrases);
  return found;
}

function isTexts(value: unknown): value is readonly string[] {
  return is.texts[1](value);
}

function checkTurn(turn: unknown): asserts turn is DeliberateTurn {
  checkFields("options", turn, turnChecks);
}

const maxLookBackLength = 20;

/**
 * Creates a deliberate tool mode, for any number of conversations. `forTurn` searches the user's text for triggers and returns the
 * gate for that turn. Pass the gate to `gateTools`. The gate allows:
 *
 * - tools with a trigger in the text (triggers come from the `triggers` option and from the `triggers` trait of `tools`),
 * - tools that succeeded in one of the last `retainTurns` turns of the conversation, and
 * - if the text is a follow-up phrase, the tools with a trigger in the newest text in `recent` that contains any trigger.
 *
 * A trigger has one of four forms. `remind me` matches whole words in upper and lower case. `remind*` matches the start of a
 * word. `^` always matches. `/remind(er)?s?/i` is a regular expression; the flags i, m, s and u are supported. A search with a
 * regular expression takes time proportional to the text, and the time per turn is limited. Invalid triggers are ignored and
 * listed in `problems`.
 *
 * The returned object remembers which tools succeeded, for at most `maxConversations` conversations. This memory is not stored in
 * a journal.
 *
 * `createDeliberateMode` and `forTurn` throw LoopError "invalid-option" or "unknown-option" if their argument is invalid.
 *
 * @example
 * const mode = createDeliberateMode({ triggers: { set_reminder: ["remind me", "reminder*"], get_time: "^" } });
 * const gate = mode.forTurn({ conversationId: "room-7", text: "Remind me to call Ada." });
 * await runToolLoop({ provider, tools, messages, middleware: [gateTools(gate)] });
 */
export function createDeliberateMode(options: DeliberateModeOptions): DeliberateMode {
  checkModeOptions(options);
  const { retainTurns = 4, followUps, maxConversations = 10_000 } = options;
  const table = createTriggerTable(readTriggers(options));
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

function findLastAsked(search: TriggerSearch, recent: readonly string[]): ReadonlyMap<string, TriggerMatch> {
  for (const text of recent.slice(-maxLookBackLength).reverse()) {
    const asked = [...search.find(text)].filter(([, { source }]) => source !== "always");
    if (asked.length > 0) return new Map(asked);
  }
  return new Map();
}
