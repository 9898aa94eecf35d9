// Parses triggers and searches text for them. A trigger is a phrase, the start of a word, a regular expression, or `^`, which
// always matches.

import { cutText, type TriggerMatch } from "../core/entry-kit.ts";
import { parseLinearRegExp } from "../core/utils/linear-regexp.ts";
import type { DeliberateModeOptions, TriggerProblem } from "./types.ts";

/** The maximum length of text that is searched, in UTF-16 code units. */
const longestText = 16_384;

/** Matches more combining marks after one letter than any language uses. Normalization takes time quadratic in their number. */
const tooManyMarks = /(\p{M}{30})\p{M}+/gu;

/** Returns the start of a text in Unicode normalization form C, where letters and their combining marks are composed. */
export function readText(text: string): string {
  return text.slice(0, longestText).replace(tooManyMarks, "$1").normalize("NFC");
}

/**
 * The remaining work budget for the regular expressions of one turn: instructions of the expressions, multiplied by searched
 * characters. Ten million take at most 0.4 seconds.
 */
interface SearchBudget {
  steps: number;
}

/** A valid trigger. */
interface Trigger {
  readonly kind: "trigger";
  readonly source: Exclude<TriggerMatch["source"], "follow-up" | "retained">;
  /**
   * Returns the words that matched, or undefined if none did. Returns an empty string for a trigger that always matches. `text`
   * must be a result of `readText`.
   */
  find(text: string, budget: SearchBudget): string | undefined;
}

/** A valid trigger, or the problem with an invalid one. In messages, `problem` follows the trigger. */
type ParsedTrigger = Trigger | { readonly kind: "refused"; readonly problem: string };

const longestPhrase = 500;

/** The maximum number of characters of a text that a regular expression searches. */
const longestSearched = 4_096;

/** Matches "/pattern/flags". A trigger with only one slash, such as "/remind", is a phrase. */
const slashed = /^\/(.*)\/([^/]*)$/s;

/** Matches one character of a word. */
const wordChar = "[\\p{L}\\p{M}\\p{N}_]";

/** Scripts that are written without spaces between words. In these scripts, a match may begin and end anywhere. */
const unspacedScripts = ["Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar"];
const unspaced = `[${unspacedScripts.map((script) => `\\p{scx=${script}}`).join("")}]`;
const spacedChar = `(?!${unspaced})${wordChar}`;
const startsSpaced = new RegExp(`^${spacedChar}`, "u");
const endsSpaced = new RegExp(`${spacedChar}$`, "u");
const endsInWord = new RegExp(`${wordChar}$`, "u");

/** Parses one trigger. */
export function parseTrigger(written: string): ParsedTrigger {
  if (written.length > longestPhrase) return refuse(`is longer than ${longestPhrase} characters`);
  const trigger = readText(written).trim();
  if (trigger === "") return refuse("is empty");
  if (trigger === "^") return { kind: "trigger", source: "always", find: () => "" };
  const [, pattern, flags] = slashed.exec(trigger) ?? [];
  return pattern === undefined || flags === undefined ? parsePhrase(trigger) : parseRegExp(pattern, flags);
}

function parseRegExp(pattern: string, flags: string): ParsedTrigger {
  const compiled = parseLinearRegExp(pattern, flags);
  if (compiled.kind === "refused") return compiled;
  const { regExp } = compiled;
  const find = (text: string, budget: SearchBudget): string | undefined => {
    const searched = text.slice(0, longestSearched);
    budget.steps -= searched.length * regExp.size;
    const found = regExp.find(searched);
    return found === undefined ? undefined : searched.slice(found.start, found.end);
  };
  return { kind: "trigger", source: "regex", find };
}

/** Parses a phrase. The platform's RegExp is safe here, because the expression for a phrase cannot backtrack much. */
function parsePhrase(trigger: string): ParsedTrigger {
  const isStem = trigger.endsWith("*");
  const phrase = isStem ? trigger.slice(0, -1) : trigger;
  if (phrase.includes("*") || phrase.trim() !== phrase || phrase === "") {
    return refuse('has a "*" that is not at the end of its last word');
  }
  const words = phrase.split(/\s+/u).map((word) => word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const before = startsSpaced.test(phrase) ? `(?<!${spacedChar})` : "";
  const native = new RegExp(`${before}${words.join("\\s+")}${isStem ? restOfWord : endOfPhrase(phrase)}`, "iu");
  return { kind: "trigger", source: isStem ? "stem" : "literal", find: (text) => native.exec(text)?.[0] };
}

const restOfWord = `(?:${spacedChar}|\\p{M})*`;

/** Returns the expression for the end of a phrase. In every script, a combining mark belongs to the letter before the mark. */
function endOfPhrase(phrase: string): string {
  if (endsSpaced.test(phrase)) return `(?!${spacedChar}|\\p{M})`;
  return endsInWord.test(phrase) ? "(?!\\p{M})" : "";
}

function refuse(problem: string): ParsedTrigger {
  return { kind: "refused", problem };
}

/** The maximum length of a reported match, because matches are shown in notices. */
const longestMatch = 200;

/** The work budget for all regular expressions of one turn. */
const mostSteps = 10_000_000;

/** The parsed triggers of all tools. */
interface TriggerTable {
  readonly problems: readonly TriggerProblem[];
  /** Begins the search of one turn. One search may cover several texts. */
  search(): TriggerSearch;
}

/** The search of one turn. Its time is limited, whatever the triggers are. */
export interface TriggerSearch {
  /** The regular expressions that were not searched for in every text, because the time limit was reached. */
  readonly unsearched: ReadonlySet<string>;
  /** Returns the tools with a trigger in the text. Each tool has its first trigger that matches. */
  find(text: string): ReadonlyMap<string, TriggerMatch>;
}

interface Row {
  readonly toolName: string;
  readonly trigger: string;
  readonly parsed: Trigger;
}

/** Parses the triggers of all tools. */
export function createTriggerTable(triggers: DeliberateModeOptions["triggers"]): TriggerTable {
  const rows: Row[] = [];
  const problems: TriggerProblem[] = [];
  for (const [toolName, phrases] of Object.entries(triggers)) {
    for (const trigger of typeof phrases === "string" ? [phrases] : phrases) {
      const parsed = parseTrigger(trigger);
      if (parsed.kind === "trigger") rows.push({ toolName, trigger, parsed });
      else problems.push({ toolName, trigger, problem: parsed.problem });
    }
  }

  return { problems, search: () => createSearch(rows) };
}

function createSearch(rows: readonly Row[]): TriggerSearch {
  const budget: SearchBudget = { steps: mostSteps };
  const unsearched = new Set<string>();

  function find(text: string): ReadonlyMap<string, TriggerMatch> {
    const composed = readText(text);
    const found = new Map<string, TriggerMatch>();
    for (const { toolName, trigger, parsed } of rows) {
      if (found.has(toolName)) continue;
      if (parsed.source === "regex" && budget.steps <= 0) {
        unsearched.add(trigger);
        continue;
      }
      const match = parsed.find(composed, budget);
      if (match !== undefined) found.set(toolName, { trigger, match: cutText(match, longestMatch), source: parsed.source });
    }
    return found;
  }

  return { unsearched, find };
}
