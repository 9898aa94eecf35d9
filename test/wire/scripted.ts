// Scripts for a service, independent of the API. Each API plays a script in its own format.

import type { RawReply } from "./raw-sse-server.ts";

export type ScriptedCall = readonly [id: string, name: string, args: string];

/** Stream endings for which the service sends a reason. The names are those of `FinishReason`. */
type SaidEnd =
  | "stop"
  | "tools"
  | "length"
  | "context-full"
  | "content-filter"
  | "refusal"
  | "paused"
  | "continue"
  | "malformed-call"
  | "error"
  | "unknown";

/**
 * `lost` ends the stream without a finish reason, `dropped` closes the connection, and `broken` puts an error into the stream.
 */
type CutEnd = "lost" | "dropped" | "broken";

export type End = SaidEnd | CutEnd;

/** A service's value that the adapter maps to a different ending. */
export interface Misread {
  readonly word: string;
  readonly reads: End;
  /** The ending if the message has calls. Default: the value of `reads`. */
  readonly withCalls?: End;
  readonly because: string;
}

/** The values with which an API reports one ending, the usual value first, or the reason why the API has none. */
type Words = readonly (string | Misread)[] | { readonly none: string };

/** The values of an API for each ending. The compiler reports a missing ending. */
export type Ends = { readonly [Name in End]: Words };

export interface ScriptedTurn {
  readonly reasoning?: readonly [text: string, signature: string];
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** True if arguments arrive in pieces, for services that do this only on request. Default false. */
  readonly inPieces?: boolean;
  /** The token counts. Default: 3 input tokens and 2 output tokens. */
  readonly usage?: ScriptedUsage;
  /** How the stream ends. `silent` sends nothing more and keeps the connection open. */
  readonly end: End | "silent";
  /** The API's value for the ending. Default: the usual value. */
  readonly word?: string;
}

export interface ScriptedUsage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

export type Scripted = ScriptedTurn | { readonly status: number; readonly message: string; readonly retryAfter?: string };

/** The default token counts. */
export const usual: ScriptedUsage = { input: 3, output: 2 };

/** Returns the values for an ending. The list is empty if the API has none. */
export function wordsFor(ends: Ends, end: End): readonly (string | Misread)[] {
  const said = ends[end];
  return "none" in said ? [] : said;
}

/** Returns all endings with their values. */
export function listEnds(ends: Ends): readonly { readonly end: End; readonly words: readonly (string | Misread)[] }[] {
  const isEnd = (name: string): name is End => Object.hasOwn(ends, name);
  return Object.keys(ends)
    .filter(isEnd)
    .map((end) => ({ end, words: wordsFor(ends, end) }));
}

/** Returns the given value for an ending, or the usual value. */
export function wordFor(ends: Ends, { end, word }: { readonly end: End; readonly word?: string }): string {
  const [usualWord] = wordsFor(ends, end);
  const said = word ?? (typeof usualWord === "object" ? usualWord.word : usualWord);
  if (said === undefined) throw new Error(`There is no word for "${end}" here.`);
  return said;
}

interface EndFrames {
  readonly ends: Ends;
  finish(word: string, end: SaidEnd): string;
  broken(word: string): string;
}

export function toStream(turn: ScriptedTurn, said: readonly string[], { ends, finish, broken }: EndFrames): RawReply {
  const { end, ...rest } = turn;
  if (end === "silent") return { frames: said, ending: "stall" };
  const word = wordFor(ends, { ...rest, end });
  if (end === "lost") return { frames: said };
  if (end === "dropped") return { frames: said, ending: "drop" };
  return { frames: [...said, end === "broken" ? broken(word) : finish(word, end)] };
}

export const halvesOf = (text: string): readonly [string, string] => {
  const half = text.length >> 1;
  return [text.slice(0, half), text.slice(half)];
};
