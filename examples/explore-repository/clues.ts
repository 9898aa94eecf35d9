// Collects clues from the tool results. A clue tells the scripted model what to search next, or is a fact for its answer.

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

export const scriptedQuestion = "What is this project, how is it laid out, and where is the loop that decides what happens next?";
export const soughtWords = "what happens next";
const soughtName = "loop";

interface Place {
  readonly name: string;
  readonly path: string;
  readonly line: number;
}

/** A clue is undefined until a tool result contains it. */
export interface Clues {
  readonly manifestPath: string | undefined;
  readonly readmePath: string | undefined;
  readonly manifest: Manifest;
  readonly readme: string | undefined;
  /**
   * The name of a function that the README calls. `shownDefinition` is the start of its definition, and `shown` is the line in
   * which the definition was found.
   */
  readonly shownName: string | undefined;
  readonly shownDefinition: string | undefined;
  readonly shown: Match | undefined;
  /** The line in which the words of the question were found. `decider` is the first function below this line. */
  readonly sought: Match | undefined;
  readonly decider: Place | undefined;
  /**
   * The start of a call to the function `decider`. `caller` is a line with such a call. A line in the file of `shown` is preferred.
   */
  readonly deciderCall: string | undefined;
  readonly caller: Match | undefined;
}

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
