// Triggers of tools: a phrase, the start of a word, a regular expression, or always.

import { cutText, type TriggerMatch } from "../core/entry-kit.ts";
import { parseLinearRegExp } from "../core/utils/linear-regexp.ts";
import type { DeliberateModeOptions, TriggerProblem } from "./types.ts";

/** How much of a text is searched, in UTF-16 units. */
const longestText = 16_384;

/** More marks on one letter than any language uses. The time to compose them is quadratic in their number. */
const tooManyMarks = /(\p{M}{30})\p{M}+/gu;

/** Returns the start of a text with composed letters (Unicode normalization form C). */
export function readText(text: string): string {
  return text.slice(0, longestText).replace(tooManyMarks, "$1").normalize("NFC");
}

/** The remaining budget for the regular expressions of one turn, in instructions times characters. Ten million take at most 0.4 seconds. */
interface SearchBudget {
  steps: number;
}

/** A valid trigger. */
interface Trigger {
  readonly kind: "trigger";
  readonly source: Exclude<TriggerMatch["source"], "follow-up" | "retained">;
  /** Returns the words that matched; empty for a trigger that always matches. Needs a text in its composed form. */
  find(text: string, budget: SearchBudget): string | undefined;
}

/** A trigger, or why it is invalid. `problem` follows the trigger. */
type ParsedTrigger = Trigger | { readonly kind: "refused"; readonly problem: string };

const longestPhrase = 500;

/** Characters of a text that a regular expression searches. */
const longestSearched = 4_096;

/** "/pattern/flags". A text with only one slash is a phrase, such as "/remind". */
const slashed = /^\/(.*)\/([^/]*)$/s;

/** The characters of a word. */
const wordChar = "[\\p{L}\\p{M}\\p{N}_]";

/** Scripts without spaces between words. In these, a word may begin and end anywhere. */
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

/** Parses a phrase. The platform's RegExp is safe here, because a phrase leaves it nothing to backtrack. */
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

/** A mark belongs to the letter before it, in every script. */
function endOfPhrase(phrase: string): string {
  if (endsSpaced.test(phrase)) return `(?!${spacedChar}|\\p{M})`;
  return endsInWord.test(phrase) ? "(?!\\p{M})" : "";
}

function refuse(problem: string): ParsedTrigger {
  return { kind: "refused", problem };
}

/** Longest match, because matches are shown in notices. */
const longestMatch = 200;

/** The budget for all regular expressions of a turn. */
const mostSteps = 10_000_000;

/** The triggers of all tools, and the invalid ones. */
interface TriggerTable {
  readonly problems: readonly TriggerProblem[];
  /** Begins the search of one turn, which may cover several texts. */
  search(): TriggerSearch;
}

/** A search with a time limit, for any triggers. */
export interface TriggerSearch {
  /** Regular expressions that the search had no time for. */
  readonly unsearched: ReadonlySet<string>;
  /** Returns the tools that a text asks for, each with its first trigger in the text. */
  find(text: string): ReadonlyMap<string, TriggerMatch>;
}

interface Row {
  readonly toolName: string;
  readonly trigger: string;
  readonly parsed: Trigger;
}

/** Parses all triggers, once. */
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
