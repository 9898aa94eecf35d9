// Reads and searches a stored result for the model. Limits the work and the size of the returned text, even for hostile patterns
// and very large results.

import { assertNever, countBytes, tokensOfBytes } from "../core/entry-kit.ts";
import { parseLinearRegExp } from "../core/utils/linear-regexp.ts";
import type { CacheRequest } from "./cache-request.ts";

/**
 * The maximum length of a line in UTF-16 code units. Longer lines are broken. Must be less than `longestSearched`, so that a
 * search covers whole lines.
 */
const longestLine = 1_000;

const slack = 200;

/** The index stores the offset of every 256th line. */
const stride = 256;

export interface LineIndex {
  readonly count: number;
  readonly bytes: number;
  readonly starts: readonly number[];
}

/**
 * Finds where each line begins. Lines of more than 1,000 UTF-16 code units are broken, after a comma or a space if there is one
 * near the end. No string is created for each line, because there may be as many lines as characters.
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

/** Yields the lines of a text, beginning with line `first`. Line numbers start at 1. */
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

/** The maximum size of a returned text in bytes. Small enough that the cache does not store the returned text again. */
const mostBytes = 6_000;

/**
 * The work limit of one search: the number of instructions in the compiled pattern, multiplied by the number of searched
 * characters. The limit is reached after at most 0.4 seconds.
 */
const mostSteps = 10_000_000;

const longestSearched = 4_096;

const stepsPerLine = 100;

export interface Kept {
  readonly text: string;
  readonly index: LineIndex;
}

export function lookUp(kept: Kept, request: CacheRequest): string {
  const { count, bytes } = kept.index;
  switch (request.action) {
    case "read":
      return showLines(kept, { from: request.startLine, to: request.endLine ?? count });
    case "head":
      return showLines(kept, { from: 1, to: request.lines });
    case "tail":
      return showLines(kept, { from: Math.max(1, count - request.lines + 1), to: count });
    case "grep":
      return findLines(kept, request);
    case "stats":
      return `Lines: ${count}. Bytes: ${bytes}. Tokens: about ${tokensOfBytes(bytes)}.`;
    default:
      return assertNever(request);
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function showLines({ text, index }: Kept, { from, to }: Range): string {
  const last = Math.min(to, index.count);
  if (from > last) return `The result has ${index.count} lines, so there are no lines from ${from} to ${to}.`;
  const answer = new Answer();
  let next = from;
  for (const line of linesFrom(text, index, from)) {
    if (next > last || !answer.add(line)) break;
    next += 1;
  }
  const more = next <= last ? ` The rest did not fit: continue with start_line ${next}.` : "";
  return answer.under(`Lines ${from} to ${next - 1} of ${index.count}.${more}`);
}

type Grep = Extract<CacheRequest, { readonly action: "grep" }>;

function findLines({ text, index }: Kept, { pattern, ignoreCase, startLine }: Grep): string {
  const { find, note } = createSearch(pattern, ignoreCase);
  const answer = new Answer();
  let next = startLine;
  let steps = 0;
  for (const line of linesFrom(text, index, startLine)) {
    if (steps >= mostSteps) break;
    const searched = find(line);
    steps += searched.steps + stepsPerLine;
    if (searched.found && !answer.add(`${next}: ${line}`)) break;
    next += 1;
  }
  const more = next <= index.count ? ` There may be more matches: continue with start_line ${next}.` : "";
  const found = `${answer.count} matching ${answer.count === 1 ? "line" : "lines"} in lines ${startLine} to ${next - 1} of ${index.count}.`;
  return answer.under(found + more + note);
}

interface Search {
  find(line: string): { readonly found: boolean; readonly steps: number };
  readonly note: string;
}

/** If the pattern is not a supported regular expression, searches for the pattern as plain text. */
function createSearch(pattern: string, ignoreCase: boolean): Search {
  const compiled = parseLinearRegExp(pattern, ignoreCase ? "iu" : "u");
  const loose = compiled.kind === "compiled" ? compiled : parseLinearRegExp(pattern, ignoreCase ? "i" : "");
  if (loose.kind === "compiled") {
    const { regExp } = loose;
    const find = (line: string): { found: boolean; steps: number } => {
      const searched = line.slice(0, longestSearched);
      return { found: regExp.test(searched), steps: searched.length * regExp.size };
    };
    return { find, note: "" };
  }
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  const literal = fold(pattern);
  const find = (line: string): { found: boolean; steps: number } => ({ found: fold(line).includes(literal), steps: line.length });
  return { find, note: ` The pattern ${loose.problem}, so grep searched for the pattern as plain text.` };
}

class Answer {
  readonly #lines: string[] = [];
  #bytes = 0;

  get count(): number {
    return this.#lines.length;
  }

  /**
   * Returns false if the line does not fit into the returned text. The first line always fits, because the length of a line is
   * limited.
   */
  add(line: string): boolean {
    const bytes = countBytes(line) + 1;
    if (this.#bytes + bytes > mostBytes) return false;
    this.#lines.push(line);
    this.#bytes += bytes;
    return true;
  }

  under(heading: string): string {
    return [heading, ...this.#lines].join("\n");
  }
}
