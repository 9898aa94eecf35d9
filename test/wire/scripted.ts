// Scripts for a service, independent of the wire. Each wire plays them in its own format.

import type { RawReply } from "./raw-sse-server.ts";

/** A call: its id, its tool, and its arguments as text. */
export type ScriptedCall = readonly [id: string, name: string, args: string];

/** A stream end for which the service gives a reason. The words are those of `FinishReason`. */
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

/** `lost` closes the stream without a finish, `dropped` the connection, `broken` puts an error into the stream. */
type CutEnd = "lost" | "dropped" | "broken";

/** Every way in which a stream can end. */
export type End = SaidEnd | CutEnd;

/** A word that is read as a different end. */
export interface Misread {
  readonly word: string;
  /** The end that it cannot be distinguished from. */
  readonly reads: End;
  /** The same with calls. Default: the same. */
  readonly withCalls?: End;
  readonly because: string;
}

/** A wire's words for one end, the usual one first, or the reason why it has none. */
type Words = readonly (string | Misread)[] | { readonly none: string };

/** A wire's words for each end. A missing end does not compile. */
export type Ends = { readonly [Name in End]: Words };

/** An assistant message. */
export interface ScriptedTurn {
  /** Reasoning, and its signature or encrypted content. */
  readonly reasoning?: readonly [text: string, signature: string];
  readonly text?: string;
  readonly calls?: readonly ScriptedCall[];
  /** True if arguments come in pieces on a service that only does so on request. Default false. */
  readonly inPieces?: boolean;
  /** Default 3 in and 2 out. */
  readonly usage?: ScriptedUsage;
  /** `silent` sends nothing more, and leaves the connection open. */
  readonly end: End | "silent";
  /** The wire's own word for the end. Default: the usual one. */
  readonly word?: string;
}

/** Token sums, and their known parts. */
export interface ScriptedUsage {
  readonly input: number;
  readonly output: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** The answer of the service to one request. */
export type Scripted = ScriptedTurn | { readonly status: number; readonly message: string; readonly retryAfter?: string };

/** The usage of every answer. */
export const usual: ScriptedUsage = { input: 3, output: 2 };

/** Returns the words for an end. The list is empty if the wire has none. */
export function wordsFor(ends: Ends, end: End): readonly (string | Misread)[] {
  const said = ends[end];
  return "none" in said ? [] : said;
}

/** All ends with their words. */
export function listEnds(ends: Ends): readonly { readonly end: End; readonly words: readonly (string | Misread)[] }[] {
  const isEnd = (name: string): name is End => Object.hasOwn(ends, name);
  return Object.keys(ends)
    .filter(isEnd)
    .map((end) => ({ end, words: wordsFor(ends, end) }));
}

/** The usual word for an end. */
export function wordFor(ends: Ends, { end, word }: { readonly end: End; readonly word?: string }): string {
  const [usualWord] = wordsFor(ends, end);
  const said = word ?? (typeof usualWord === "object" ? usualWord.word : usualWord);
  if (said === undefined) throw new Error(`There is no word for "${end}" here.`);
  return said;
}

/** The frames of a wire for an end. */
interface EndFrames {
  readonly ends: Ends;
  finish(word: string, end: SaidEnd): string;
  broken(word: string): string;
}

/** The frames of a message, then its ending. */
export function toStream(turn: ScriptedTurn, said: readonly string[], { ends, finish, broken }: EndFrames): RawReply {
  const { end, ...rest } = turn;
  if (end === "silent") return { frames: said, ending: "stall" };
  const word = wordFor(ends, { ...rest, end });
  if (end === "lost") return { frames: said };
  if (end === "dropped") return { frames: said, ending: "drop" };
  return { frames: [...said, end === "broken" ? broken(word) : finish(word, end)] };
}

/** The two halves of a text. */
export const halvesOf = (text: string): readonly [string, string] => {
  const half = text.length >> 1;
  return [text.slice(0, half), text.slice(half)];
};
