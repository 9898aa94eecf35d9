import { cutText } from "../../shared/texts.ts";
import type { TriggerMatch } from "../../core/types/loop-event.ts";
import { parseLinearRegExp } from "../../shared/linear-regexp.ts";

/** The maximum length of the text, in UTF-16 code units. Anything beyond it is ignored. */
const maxTextLength = 16_384;

/**
 * Matches more than 30 combining marks on one letter. Marks after the 30th are dropped, because no language uses so many, and the
 * time to normalize a letter's marks grows with the square of their number.
 */
const tooManyMarks = /(\p{M}{30})\p{M}+/gu;

/** Cuts text to the maximum length, and joins letters with their combining marks (Unicode normalization form C). */
export function readText(text: string): string {
  return text.slice(0, maxTextLength).replace(tooManyMarks, "$1").normalize("NFC");
}

/**
 * The remaining work for one turn's regular expressions, in steps. A step is one instruction of a compiled expression,
 * applied to one character. Ten million steps take at most 0.4 seconds.
 */
interface SearchBudget {
  steps: number;
}

interface Trigger {
  readonly kind: "trigger";
  readonly source: Exclude<TriggerMatch["source"], "follow-up" | "retained">;
  /**
   * Returns the matched words, or undefined if there is no match. A trigger that always matches returns an empty string. `text` must
   * be a result of `readText`.
   */
  find(text: string, budget: SearchBudget): string | undefined;
}

/** A parsed trigger, or the problem with it, worded to follow the trigger in a message, for example "is empty". */
type ParsedTrigger = Trigger | { readonly kind: "refused"; readonly problem: string };

const maxPhraseLength = 500;

const maxSearchedLength = 4_096;

/** Matches a regular expression between two slashes, followed by its flags. A trigger with one slash, such as "/remind", is a phrase. */
const slashed = /^\/(.*)\/([^/]*)$/s;

const wordChar = "[\\p{L}\\p{M}\\p{N}_]";

/** Scripts that are written without spaces between words, so a match may begin and end anywhere. */
const unspacedScripts = ["Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar"];
const unspaced = `[${unspacedScripts.map((script) => `\\p{scx=${script}}`).join("")}]`;
const spacedChar = `(?!${unspaced})${wordChar}`;
const startsSpaced = new RegExp(`^${spacedChar}`, "u");
const endsSpaced = new RegExp(`${spacedChar}$`, "u");
const endsInWord = new RegExp(`${wordChar}$`, "u");

export function parseTrigger(written: string): ParsedTrigger {
  if (written.length > maxPhraseLength) return refuse(`is longer than ${maxPhraseLength} characters`);
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
    const searched = text.slice(0, maxSearchedLength);
    budget.steps -= searched.length * regExp.size;
    const found = regExp.find(searched);
    return found === undefined ? undefined : searched.slice(found.start, found.end);
  };
  return { kind: "trigger", source: "regex", find };
}

/** Parses a phrase. Uses the platform's RegExp, which is safe because the expression for a phrase cannot backtrack much. */
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

/**
 * Returns the pattern that ends a phrase. In every script, no combining mark may follow, because it would change the phrase's last letter.
 */
function endOfPhrase(phrase: string): string {
  if (endsSpaced.test(phrase)) return `(?!${spacedChar}|\\p{M})`;
  return endsInWord.test(phrase) ? "(?!\\p{M})" : "";
}

function refuse(problem: string): ParsedTrigger {
  return { kind: "refused", problem };
}

const maxMatchLength = 200;

const maxSteps = 10_000_000;

/** An invalid trigger or follow-up phrase. */
export interface TriggerProblem {
  /** The tool with the trigger. Undefined for a phrase in `followUps`. */
  readonly toolName: string | undefined;
  readonly trigger: string;
  /** The problem, worded to follow the trigger in a message, for example "is empty". */
  readonly problem: string;
}

interface TriggerTable {
  readonly problems: readonly TriggerProblem[];
  search(): TriggerSearch;
}

/** Searches the text of one turn. All calls to `find` share one limit on the work done by regular expressions. */
export interface TriggerSearch {
  /** The regular expressions that were skipped because the limit was reached. */
  readonly unsearched: ReadonlySet<string>;
  find(text: string): ReadonlyMap<string, TriggerMatch>;
}

interface Row {
  readonly toolName: string;
  readonly trigger: string;
  readonly parsed: Trigger;
}

export function createTriggerTable(triggers: ReadonlyMap<string, string | readonly string[]>): TriggerTable {
  const rows: Row[] = [];
  const problems: TriggerProblem[] = [];
  for (const [toolName, phrases] of triggers) {
    for (const trigger of typeof phrases === "string" ? [phrases] : phrases) {
      const parsed = parseTrigger(trigger);
      if (parsed.kind === "trigger") rows.push({ toolName, trigger, parsed });
      else problems.push({ toolName, trigger, problem: parsed.problem });
    }
  }

  return { problems, search: () => createSearch(rows) };
}

function createSearch(rows: readonly Row[]): TriggerSearch {
  const budget: SearchBudget = { steps: maxSteps };
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
      if (match !== undefined) found.set(toolName, { trigger, match: cutText(match, maxMatchLength), source: parsed.source });
    }
    return found;
  }

  return { unsearched, find };
}
