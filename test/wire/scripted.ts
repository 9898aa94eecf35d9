// Scripted responses that do not depend on an API. Each wire formats a script as a stream of its API.

import type { RawReply } from "./raw-sse-server.ts";

export type ScriptedCall = readonly [id: string, name: string, args: string];

/** Endings for which a service sends a stop reason. */
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

/** Endings without a stop reason: `lost` ends the stream, `dropped` closes the connection, and `broken` sends an error. */
type CutEnd = "lost" | "dropped" | "broken";

export type End = SaidEnd | CutEnd;

/** A stop reason that the adapter reads as another ending. `because` gives the reason. */
export interface Misread {
  readonly word: string;
  readonly reads: End;
  /** The ending that the adapter reads if the message has calls. Default: the value of `reads`. */
  readonly withCalls?: End;
  readonly because: string;
}

/** The stop reasons with which an API reports an ending, the most common first. If there is none, `none` says why. */
type Words = readonly (string | Misread)[] | { readonly none: string };

export type Ends = { readonly [Name in End]: Words };

export interface ScriptedTurn {
  readonly reasoning?: readonly [text: string, signature: string];
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** True if the arguments of calls arrive in pieces. Only Gemini reads this field. Default false. */
  readonly inPieces?: boolean;
  /** The token counts. Default: 3 input tokens and 2 output tokens. */
  readonly usage?: ScriptedUsage;
  /** How the stream ends. `silent` keeps the connection open and sends nothing more. */
  readonly end: End | "silent";
  /** The stop reason that the stream sends. Default: the first stop reason for `end`. */
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

export const usual: ScriptedUsage = { input: 3, output: 2 };

export function wordsFor(ends: Ends, end: End): readonly (string | Misread)[] {
  const said = ends[end];
  return "none" in said ? [] : said;
}

export function listEnds(ends: Ends): readonly { readonly end: End; readonly words: readonly (string | Misread)[] }[] {
  const isEnd = (name: string): name is End => Object.hasOwn(ends, name);
  return Object.keys(ends)
    .filter(isEnd)
    .map((end) => ({ end, words: wordsFor(ends, end) }));
}

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
