// Every tool with its triggers, and which of them a text contains.

import { cutText, type TriggerMatch } from "../core/entry-kit.ts";
import type { DeliberateModeOptions, TriggerProblem } from "./types.ts";
import { parseTrigger, type SearchBudget, type Trigger } from "./parse-trigger.ts";
import { readText } from "./read-text.ts";

/** A match is told in notices, where a whole letter has no place. */
const longestMatch = 200;

/** What the regular expressions of a turn may take together. */
const mostSteps = 10_000_000;

/** The triggers of all tools, and those that cannot be used. */
export interface TriggerTable {
  readonly problems: readonly TriggerProblem[];
  /** Begins the search of one turn, which may look at several texts. */
  search(): TriggerSearch;
}

/** A search that ends in time, whatever the triggers. */
export interface TriggerSearch {
  /** Regular expressions that the search had no time for. */
  readonly unsearched: ReadonlySet<string>;
  /** The tools that a text asks for, each with the first of its triggers that the text contains. */
  find(text: string): ReadonlyMap<string, TriggerMatch>;
}

interface Row {
  readonly toolName: string;
  readonly trigger: string;
  readonly parsed: Trigger;
}

/** Reads all triggers, once. */
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
