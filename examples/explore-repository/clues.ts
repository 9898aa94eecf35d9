// Derives clues from the results so far: the next thing to look at, and the facts for the answer.

import {
  findFunctionBelow,
  findMainMatch,
  findManifest,
  findReadme,
  findShownFunction,
  readManifest,
  type Manifest,
  toDefinition,
} from "./repository-facts.ts";
import type { Seen } from "./seen.ts";
import type { Match } from "./tools.ts";

/** The only question that the scripted model can answer, and the words that the model searches for. */
export const scriptedQuestion = "What is this project, how is it laid out, and where is the loop that decides what happens next?";
export const soughtWords = "what happens next";
const soughtName = "loop";

interface Place {
  readonly name: string;
  readonly path: string;
  readonly line: number;
}

/** All clues so far. A clue is undefined until a result reveals it. */
export interface Clues {
  readonly manifestPath: string | undefined;
  readonly readmePath: string | undefined;
  readonly manifest: Manifest;
  readonly readme: string | undefined;
  /**
   * The name of a function that the README calls. `shownDefinition` is the text of its definition, and `shown` is the match for
   * this text.
   */
  readonly shownName: string | undefined;
  readonly shownDefinition: string | undefined;
  readonly shown: Match | undefined;
  /** The match for `soughtWords`. `decider` is the next function below this match. */
  readonly sought: Match | undefined;
  readonly decider: Place | undefined;
  /** The text of a call to `decider`. `caller` is a match for this text, preferably in the same file as `shown`. */
  readonly deciderCall: string | undefined;
  readonly caller: Match | undefined;
}

/** Derives the clues. */
export function findClues({ listing, textOf, matchesOf }: Seen): Clues {
  const manifestPath = findManifest(listing.files);
  const readmePath = findReadme(listing.files);
  const readme = textOf(readmePath);
  const shownName = readme === undefined ? undefined : findShownFunction(readme, soughtName);
  const shownDefinition = shownName === undefined ? undefined : toDefinition(shownName, manifestPath);
  const shown = findMainMatch(matchesOf(shownDefinition));
  const sought = findMainMatch(matchesOf(soughtWords));
  const decider = findPlaceBelow(sought, textOf);
  const deciderCall = decider === undefined ? undefined : `${decider.name}(`;
  const calls = matchesOf(deciderCall).filter(({ path }) => path !== decider?.path);
  const caller = calls.find(({ path }) => path === shown?.path) ?? findMainMatch(calls);
  const manifest = readManifest(manifestPath, textOf(manifestPath));
  return { manifestPath, readmePath, manifest, readme, shownName, shownDefinition, shown, sought, decider, deciderCall, caller };
}

function findPlaceBelow(match: Match | undefined, textOf: Seen["textOf"]): Place | undefined {
  const text = textOf(match?.path);
  const found = match === undefined || text === undefined ? undefined : findFunctionBelow(text, match.line);
  return found === undefined || match === undefined ? undefined : { ...found, path: match.path };
}
