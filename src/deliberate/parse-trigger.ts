// What a trigger means: a phrase, the start of a word, a regular expression, or always.

import { type TriggerMatch } from "../core/entry-kit.ts";
import { parseLinearRegExp } from "../core/utils/linear-regexp.ts";
import { readText } from "./read-text.ts";

/** What the regular expressions of one turn may still take, in instructions times characters; ten million take at most 0.4 seconds. */
export interface SearchBudget {
  steps: number;
}

/** A trigger that can be looked for. */
export interface Trigger {
  readonly kind: "trigger";
  readonly source: Exclude<TriggerMatch["source"], "follow-up" | "retained">;
  /** The words that matched; empty for a trigger that always holds. Wants a text in its composed form. */
  find(text: string, budget: SearchBudget): string | undefined;
}

/** The trigger, or why it is none; `problem` reads on after the trigger. */
export type ParsedTrigger = Trigger | { readonly kind: "refused"; readonly problem: string };

const longestPhrase = 500;

/** Characters of a text that a regular expression searches. */
const longestText = 4_096;

/** "/pattern/flags"; a text with one slash only is a phrase, such as "/remind". */
const slashed = /^\/(.*)\/([^/]*)$/s;

/** What a word is made of. */
const wordChar = "[\\p{L}\\p{M}\\p{N}_]";

/** Scripts that set no space between words: there a word may begin and end anywhere. */
const unspacedScripts = ["Han", "Hiragana", "Katakana", "Bopomofo", "Thai", "Lao", "Khmer", "Myanmar"];
const unspaced = `[${unspacedScripts.map((script) => `\\p{scx=${script}}`).join("")}]`;
const spacedChar = `(?!${unspaced})${wordChar}`;
const startsSpaced = new RegExp(`^${spacedChar}`, "u");
const endsSpaced = new RegExp(`${spacedChar}$`, "u");
const endsInWord = new RegExp(`${wordChar}$`, "u");

/** Reads one trigger as its author wrote it. */
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
    const searched = text.slice(0, longestText);
    budget.steps -= searched.length * regExp.size;
    const found = regExp.find(searched);
    return found === undefined ? undefined : searched.slice(found.start, found.end);
  };
  return { kind: "trigger", source: "regex", find };
}

/** The platform's RegExp will do here: a phrase leaves it no second way to try. */
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
