import { countBytes } from "../core/entry-kit.ts";

/**
 * The maximum length of a line in UTF-16 code units. Longer lines are broken. Must be less than `longestSearched` in look-up.ts,
 * so that a search covers whole lines.
 */
const longestLine = 1_000;

const slack = 200;

const stride = 256;

/** The number of lines, and the offset of every 256th line, beginning with the first. */
export interface LineStarts {
  readonly count: number;
  readonly starts: readonly number[];
}

export interface LineIndex extends LineStarts {
  readonly bytes: number;
}

export interface TextLines {
  readonly bytes: number;
  /** The number of lines found so far. The number grows while a large text is read. */
  readonly count: number;
  readonly isCounted: boolean;
  countAll(): Promise<number>;
  from(first: number): AsyncIterable<string> | Iterable<string>;
}

export function linesOfText(text: string, index: LineIndex = indexLines(text)): TextLines {
  const { bytes, count } = index;
  return { bytes, count, isCounted: true, countAll: async () => count, from: (first) => linesFrom(text, index, first) };
}

export function indexLines(text: string): LineIndex {
  return { ...findStarts(text), bytes: countBytes(text) };
}

/**
 * Counts the lines, and finds where every 256th line begins. Breaks lines of more than 1,000 UTF-16 code units, after a comma or a
 * space if there is one near the end. Creates no string for each line, because there may be as many lines as characters.
 */
export function findStarts(text: string): LineStarts {
  const starts: number[] = [];
  const nextFeed = createFinder(text, "\n");
  const nextReturn = createFinder(text, "\r");
  let count = 0;
  for (let start: number | undefined = 0; start !== undefined; count += 1) {
    if (count % stride === 0) starts.push(start);
    const end = Math.min(nextFeed(start), nextReturn(start));
    const last = Math.min(text.length, start + longestLine);
    start = startAfter(text, end <= last ? end : lastOf(text, start));
  }
  return { count, starts };
}

/**
 * Returns a function that finds the first place of a character from a position on. The positions must increase from call to call.
 */
function createFinder(text: string, character: string): (from: number) => number {
  let found = -1;
  return (from) => {
    if (found < from) {
      const next = text.indexOf(character, from);
      found = next === -1 ? Number.POSITIVE_INFINITY : next;
    }
    return found;
  };
}

export function* linesFrom(text: string, { starts }: LineStarts, first: number): Generator<string> {
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
  return lastOf(text, start);
}

function lastOf(text: string, start: number): number {
  return text.length - start <= longestLine ? text.length : findBreak(text, start);
}

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
  // A break must not separate the two halves of a surrogate pair.
  return (text.codePointAt(end - 1) ?? 0) > 0xffff ? end - 1 : end;
}
