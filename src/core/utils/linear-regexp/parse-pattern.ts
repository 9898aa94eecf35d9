// Reads a regular expression into a tree. The platform has accepted its syntax before; what this matcher has no words for is refused.

import { createCharTest, type CharTest } from "./char-test.ts";

/** A part of a pattern. */
export type PatternNode =
  | { readonly kind: "char"; readonly test: CharTest }
  | { readonly kind: "assert"; readonly where: Assertion }
  | { readonly kind: "sequence"; readonly parts: readonly PatternNode[] }
  | { readonly kind: "choice"; readonly options: readonly PatternNode[] }
  | { readonly kind: "repeat"; readonly body: PatternNode; readonly times: Times };

/** A place in a text that takes no character. */
export type Assertion = "start" | "end" | "line-start" | "line-end" | "word-edge" | "no-word-edge";

/** How often something repeats. `max` may be Infinity. */
export interface Times {
  readonly min: number;
  readonly max: number;
  readonly greedy: boolean;
}

/** The tree, or why there is none. */
export type ParsedPattern =
  | { readonly kind: "parsed"; readonly root: PatternNode }
  | { readonly kind: "refused"; readonly problem: string };

/** Groups within groups; far from where the parser or the compiler would run out of stack. */
const deepestGroup = 50;

const quantifier = /(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})(\??)/y;
const lookAround = /\(\?<?[=!]/y;
const groupStart = /\((?:\?(?::|<[^>]*>))?/y;
const charClass = /\[(?:[^\]\\]|\\[^])*\]/y;
const surrogatePair = /\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}/y;
const charEscape =
  /\\(?:[dDwWsStnvfr]|0(?!\d)|x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|u\{[0-9a-fA-F]+\}|c[a-zA-Z]|[pP]\{[^}]*\}|[^a-zA-Z0-9])/y;
/** Without the flag u these mean the letters themselves, which nobody means. */
const unicodeOnly = /^(?:\[(?:[^\\]|\\[^pPu]|\\[pPu](?!\{))*)?\\[pPu]\{/;
const syntaxChar = /[\\^$.*+?()[\]{}|/]/;

/** Leaves the parser from any depth. */
class Refusal extends Error {}

/** How far the pattern is read. */
interface Reading {
  readonly source: string;
  readonly unicode: boolean;
  readonly multiline: boolean;
  /** Flags that matter to a single character. */
  readonly charFlags: string;
  /** Equal characters share their test, and with it what it remembers. */
  readonly tests: Map<string, CharTest>;
  at: number;
  depth: number;
}

/** Reads a pattern whose syntax the platform has accepted under the same flags. */
export function parsePattern(source: string, flags: string): ParsedPattern {
  const unicode = flags.includes("u");
  const multiline = flags.includes("m");
  const reading: Reading = { source, unicode, multiline, charFlags: flags.replace("m", ""), tests: new Map(), at: 0, depth: 0 };
  try {
    return { kind: "parsed", root: readChoice(reading) };
  } catch (error) {
    if (error instanceof Refusal) return { kind: "refused", problem: error.message };
    throw error;
  }
}

function readChoice(reading: Reading): PatternNode {
  const first = readSequence(reading);
  const options = [first];
  while (nextChar(reading) === "|") {
    reading.at += 1;
    options.push(readSequence(reading));
  }
  return options.length === 1 ? first : { kind: "choice", options };
}

function readSequence(reading: Reading): PatternNode {
  const parts: PatternNode[] = [];
  while (!["", "|", ")"].includes(nextChar(reading))) {
    const body = readTerm(reading);
    const times = readTimes(reading);
    parts.push(times === undefined ? body : { kind: "repeat", body, times });
  }
  return { kind: "sequence", parts };
}

function readTimes(reading: Reading): Times | undefined {
  const found = take(reading, quantifier);
  if (found === undefined) return undefined;
  const [text = "", least, comma, most, lazy] = found;
  const greedy = lazy !== "?";
  if (text.startsWith("?")) return { min: 0, max: 1, greedy };
  if (least === undefined) return { min: text.startsWith("+") ? 1 : 0, max: Number.POSITIVE_INFINITY, greedy };
  const min = Number(least);
  return { min, max: comma === undefined ? min : most === "" ? Number.POSITIVE_INFINITY : Number(most), greedy };
}

function readTerm(reading: Reading): PatternNode {
  const char = nextChar(reading);
  switch (char) {
    case "(":
      return readGroup(reading);
    case "\\":
      return readEscape(reading);
    case "[":
      return toChar(reading, take(reading, charClass)?.[0] ?? "");
    case "^":
      reading.at += 1;
      return { kind: "assert", where: reading.multiline ? "line-start" : "start" };
    case "$":
      reading.at += 1;
      return { kind: "assert", where: reading.multiline ? "line-end" : "end" };
    default:
      reading.at += char.length;
      return toChar(reading, char !== "." && syntaxChar.test(char) ? `\\${char}` : char);
  }
}

function readGroup(reading: Reading): PatternNode {
  if (take(reading, lookAround) !== undefined) throw new Refusal("looks ahead or behind, which is not supported");
  take(reading, groupStart);
  if (nextChar(reading) === "?") throw new Refusal('has a group that begins with "(?" in a way that is not supported');
  reading.depth += 1;
  if (reading.depth > deepestGroup) throw new Refusal(`has groups nested more than ${deepestGroup} deep`);
  const inner = readChoice(reading);
  reading.depth -= 1;
  // Its ")".
  reading.at += 1;
  return inner;
}

function readEscape(reading: Reading): PatternNode {
  const letter = reading.source.charAt(reading.at + 1);
  if (letter === "b" || letter === "B") {
    reading.at += 2;
    return { kind: "assert", where: letter === "b" ? "word-edge" : "no-word-edge" };
  }
  if (/[1-9k]/.test(letter)) throw new Refusal("refers back to a group, which is not supported");
  const found = (reading.unicode ? take(reading, surrogatePair) : undefined) ?? take(reading, charEscape);
  if (found === undefined) throw new Refusal(`has "\\${letter}", which is not supported`);
  return toChar(reading, found[0]);
}

function toChar({ unicode, charFlags, tests }: Reading, source: string): PatternNode {
  if (!unicode && unicodeOnly.test(source)) throw new Refusal('has "\\p{" or "\\u{", which need the flag u');
  const test = tests.get(source) ?? createCharTest(source, charFlags);
  tests.set(source, test);
  return { kind: "char", test };
}

/** The character at hand, a code point with the flag u, else a UTF-16 unit; empty at the end. */
function nextChar({ source, unicode, at }: Reading): string {
  const code = unicode ? source.codePointAt(at) : undefined;
  return code === undefined ? source.charAt(at) : String.fromCodePoint(code);
}

function take(reading: Reading, sticky: RegExp): RegExpExecArray | undefined {
  sticky.lastIndex = reading.at;
  const found = sticky.exec(reading.source);
  if (found === null) return undefined;
  reading.at += found[0].length;
  return found;
}
