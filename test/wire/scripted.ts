// Scripts for a service, independent of the API. Each API plays a script in its own format.

import type { RawReply } from "./raw-sse-server.ts";

/** A call: its id, the name of its tool, and its arguments as text. */
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

/** A service's word that the adapter reads as a different ending. */
export interface Misread {
  readonly word: string;
  /** The ending that the adapter reads. */
  readonly reads: End;
  /** The ending that the adapter reads if the message has calls. Default: the value of `reads`. */
  readonly withCalls?: End;
  readonly because: string;
}

/** The words with which an API reports one ending, the usual word first, or the reason why the API has no word for it. */
type Words = readonly (string | Misread)[] | { readonly none: string };

/** The words of an API for each ending. The compiler reports a missing ending. */
export type Ends = { readonly [Name in End]: Words };

export interface ScriptedTurn {
  /** The reasoning text, and its signature or encrypted content. */
  readonly reasoning?: readonly [text: string, signature: string];
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** True if arguments arrive in pieces, for services that do this only on request. Default false. */
  readonly inPieces?: boolean;
  /** The token counts. Default: 3 input tokens and 2 output tokens. */
  readonly usage?: ScriptedUsage;
  /** How the stream ends. `silent` sends nothing more and keeps the connection open. */
  readonly end: End | "silent";
  /** The API's word for the ending. Default: the usual word. */
  readonly word?: string;
}

/** Total token counts, and the parts that are known. */
export interface ScriptedUsage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** The response of the service to one request. */
export type Scripted = ScriptedTurn | { readonly status: number; readonly message: string; readonly retryAfter?: string };

/** The default token counts. */
export const usual: ScriptedUsage = { input: 3, output: 2 };

/** Returns the words for an ending. The list is empty if the API has none. */
export function wordsFor(ends: Ends, end: End): readonly (string | Misread)[] {
  const said = ends[end];
  return "none" in said ? [] : said;
}

/** Returns all endings with their words. */
export function listEnds(ends: Ends): readonly { readonly end: End; readonly words: readonly (string | Misread)[] }[] {
  const isEnd = (name: string): name is End => Object.hasOwn(ends, name);
  return Object.keys(ends)
    .filter(isEnd)
    .map((end) => ({ end, words: wordsFor(ends, end) }));
}

/** Returns the given word for an ending, or the usual word. */
export function wordFor(ends: Ends, { end, word }: { readonly end: End; readonly word?: string }): string {
  const [usualWord] = wordsFor(ends, end);
  const said = word ?? (typeof usualWord === "object" ? usualWord.word : usualWord);
  if (said === undefined) throw new Error(`There is no word for "${end}" here.`);
  return said;
}

/** Creates the frames with which a stream ends. */
interface EndFrames {
  readonly ends: Ends;
  finish(word: string, end: SaidEnd): string;
  broken(word: string): string;
}

/** Returns the frames of a message, followed by its ending. */
export function toStream(turn: ScriptedTurn, said: readonly string[], { ends, finish, broken }: EndFrames): RawReply {
  const { end, ...rest } = turn;
  if (end === "silent") return { frames: said, ending: "stall" };
  const word = wordFor(ends, { ...rest, end });
  if (end === "lost") return { frames: said };
  if (end === "dropped") return { frames: said, ending: "drop" };
  return { frames: [...said, end === "broken" ? broken(word) : finish(word, end)] };
}

/** Splits a text into two halves. */
export const halvesOf = (text: string): readonly [string, string] => {
  const half = text.length >> 1;
  return [text.slice(0, half), text.slice(half)];
};
