// The lines of a cached result. JSON is often a single line of any length, so that long lines are several.

import { countBytes } from "../core/entry-kit.ts";

/** Longest line, in UTF-16 units; also far less than a regular expression is searched for in. */
const longestLine = 1_000;

/** How far back a long line is looked through for a place to break it. */
const slack = 200;

/** Every how many lines the index notes where one begins. */
const stride = 256;

/** The size of a text and where its lines begin, roughly, so that one look does not go through all of it. */
export interface LineIndex {
  readonly count: number;
  /** Bytes of the whole text. */
  readonly bytes: number;
  /** Where the first line begins, the 257th and so on. */
  readonly starts: readonly number[];
}

/**
 * Counts the lines of a text, which have at most 1,000 units: long ones are broken after a comma or a blank if there is one near. Makes no
 * text for a line, because there may be as many lines as characters.
 */
export function indexLines(text: string): LineIndex {
  const starts: number[] = [];
  let count = 0;
  for (let start: number | undefined = 0; start !== undefined; start = startAfter(text, endOf(text, start))) {
    if (count % stride === 0) starts.push(start);
    count += 1;
  }
  return { count, bytes: countBytes(text), starts };
}

/** Gives the lines of a text from one on, counted from 1. */
export function* linesFrom(text: string, { starts }: LineIndex, first: number): Generator<string> {
  let start: number | undefined = starts[Math.floor((first - 1) / stride)];
  for (let ahead = (first - 1) % stride; start !== undefined; ahead--) {
    const end = endOf(text, start);
    if (ahead <= 0) yield text.slice(start, end);
    start = startAfter(text, end);
  }
}

const lineFeed = 10;
const carriageReturn = 13;

function endOf(text: string, start: number): number {
  const last = Math.min(text.length, start + longestLine);
  for (let index = start; index <= last; index++) {
    const unit = text.charCodeAt(index);
    if (unit === lineFeed || unit === carriageReturn) return index;
  }
  return last === text.length ? last : findBreak(text, start);
}

/** Undefined after the last line. */
function startAfter(text: string, end: number): number | undefined {
  if (end === text.length) return undefined;
  const unit = text.charCodeAt(end);
  if (unit === lineFeed) return end + 1;
  if (unit !== carriageReturn) return end;
  return text.charCodeAt(end + 1) === lineFeed ? end + 2 : end + 1;
}

function findBreak(text: string, start: number): number {
  const end = start + longestLine;
  const tail = text.slice(end - slack, end);
  const near = Math.max(tail.lastIndexOf(","), tail.lastIndexOf(" ")) + 1;
  if (near > 0) return end - slack + near;
  // Never between the halves of a surrogate pair.
  return (text.codePointAt(end - 1) ?? 0) > 0xffff ? end - 1 : end;
}
