// "Do it again": texts that ask for what was asked for before.

import type { TriggerProblem } from "./types.ts";
import { readText } from "./read-text.ts";

/** English ways to ask for the same once more. */
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

/** The phrases, and those that cannot be used. */
export interface FollowUps {
  readonly problems: readonly TriggerProblem[];
  isFollowUp(text: string): boolean;
}

/** Compares by words alone: case, punctuation and space do not count, but nothing else may be said. */
export function createFollowUps(phrases: readonly string[] = englishFollowUps): FollowUps {
  const problems: TriggerProblem[] = [];
  const known = new Set<string>();
  for (const trigger of phrases) {
    const words = foldWords(trigger);
    if (words === "") problems.push({ toolName: undefined, trigger, problem: "has no word in it" });
    else known.add(words);
  }
  return { problems, isFollowUp: (text) => known.has(foldWords(text)) };
}

function foldWords(text: string): string {
  return (readText(text).match(/[\p{L}\p{M}\p{N}_]+/gu) ?? []).join(" ").toLowerCase();
}
