// Answers what a model asks of a cached result. What it says is bounded, and so is the work, whatever the pattern and the text.

import { assertNever, countBytes, tokensOfBytes } from "../core/entry-kit.ts";
import { parseLinearRegExp } from "../core/utils/linear-regexp.ts";
import type { CacheRequest } from "./cache-request.ts";
import { type LineIndex, linesFrom } from "./text-lines.ts";

/** Longest answer in bytes: below the default threshold of the cacher, so that an answer is not cached in turn. */
const mostBytes = 6_000;

/** Instructions times characters of one search: at most 0.4 seconds. */
const mostSteps = 10_000_000;

/** Characters of a line that are searched. */
const longestSearched = 4_096;

/** What looking at a line costs beside the steps of its search. */
const stepsPerLine = 100;

/** A text and where its lines are. */
export interface Kept {
  readonly text: string;
  readonly index: LineIndex;
}

/** The answer to one request. */
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
  if (from > last) return `There are ${index.count} lines; none from ${from} to ${to}.`;
  const answer = new Answer();
  let next = from;
  for (const line of linesFrom(text, index, from)) {
    if (next > last || !answer.add(line)) break;
    next += 1;
  }
  const more = next <= last ? ` The rest did not fit: go on with start_line ${next}.` : "";
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
  const more = next <= index.count ? ` There may be more: go on with start_line ${next}.` : "";
  const found = `${answer.count} matching ${answer.count === 1 ? "line" : "lines"} in lines ${startLine} to ${next - 1} of ${index.count}.`;
  return answer.under(found + more + note);
}

interface Search {
  find(line: string): { readonly found: boolean; readonly steps: number };
  readonly note: string;
}

/** What cannot be searched for as an expression is searched for as it is written. */
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
  return { find, note: ` The pattern ${loose.problem}, so it was searched for as plain text.` };
}

/** Lines, as many as fit. */
class Answer {
  readonly #lines: string[] = [];
  #bytes = 0;

  get count(): number {
    return this.#lines.length;
  }

  /** False where the line does not fit any more. The first one always does: it is short enough. */
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
