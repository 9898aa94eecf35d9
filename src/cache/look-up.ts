// Reads and searches stored text for the model. Limits the work and the result's size, even for hostile patterns and huge text.

import { countBytes, tokensOfBytes } from "../shared/estimate-tokens.ts";
import { parseLinearRegExp } from "../shared/linear-regexp.ts";
import type { ReadRequest } from "./read-request.ts";
import type { TextLines } from "./text-lines.ts";

/**
 * The work limit for one search: the number of instructions in the compiled pattern, multiplied by the number of characters searched. The
 * limit is reached after at most 0.4 seconds.
 */
const maxSteps = 10_000_000;

const maxSearchedLength = 4_096;

const stepsPerLine = 100;

export type LineRequest = Exclude<ReadRequest, { readonly action: "json" | "release" }>;

export async function lookUp(lines: TextLines, request: LineRequest): Promise<string> {
  switch (request.action) {
    case "read":
      return showLines(lines, { from: request.startLine, to: request.endLine ?? Number.POSITIVE_INFINITY });
    case "head":
      return showLines(lines, { from: 1, to: request.lines });
    case "tail": {
      const count = await lines.countAll();
      return showLines(lines, { from: Math.max(1, count - request.lines + 1), to: count });
    }
    case "grep":
      return findLines(lines, request);
    case "stats":
      return `Lines: ${await lines.countAll()}. Bytes: ${lines.bytes}. Tokens: about ${tokensOfBytes(lines.bytes)}.`;
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

async function showLines(lines: TextLines, { from, to }: Range): Promise<string> {
  const answer = new Answer();
  let next = from;
  let isFull = false;
  if (from <= to) {
    for await (const line of lines.from(from)) {
      isFull = !answer.add(line);
      if (isFull) break;
      next += 1;
      if (next > to) break;
    }
  }
  if (answer.count === 0) {
    const range = Number.isFinite(to) ? `from ${from} to ${to}` : `from ${from} on`;
    return `The text has ${describeCount(lines)} lines, so there are no lines ${range}.`;
  }
  const more = isFull ? ` The rest did not fit: continue with start_line ${next}.` : "";
  return answer.under(`Lines ${from} to ${next - 1} of ${describeCount(lines)}.${more}`);
}

function describeCount({ count, isCounted }: TextLines): string {
  return isCounted ? String(count) : `at least ${count}`;
}

type Grep = Extract<ReadRequest, { readonly action: "grep" }>;

async function findLines(lines: TextLines, { pattern, ignoreCase, startLine }: Grep): Promise<string> {
  const { find, note } = createSearch(pattern, ignoreCase);
  const answer = new Answer();
  let next = startLine;
  let steps = 0;
  let hasMore = false;
  for await (const line of lines.from(startLine)) {
    hasMore = steps >= maxSteps;
    if (hasMore) break;
    const searched = find(line);
    steps += searched.steps + stepsPerLine;
    hasMore = searched.found && !answer.add(`${next}: ${line}`);
    if (hasMore) break;
    next += 1;
  }
  const more = hasMore ? ` There may be more matches: continue with start_line ${next}.` : "";
  const found = `${answer.count} matching ${answer.count === 1 ? "line" : "lines"} in lines ${startLine} to ${next - 1} of ${describeCount(lines)}.`;
  return answer.under(found + more + note);
}

interface Search {
  find(line: string): { readonly found: boolean; readonly steps: number };
  readonly note: string;
}

function createSearch(pattern: string, ignoreCase: boolean): Search {
  const compiled = parseLinearRegExp(pattern, ignoreCase ? "iu" : "u");
  const loose = compiled.kind === "compiled" ? compiled : parseLinearRegExp(pattern, ignoreCase ? "i" : "");
  if (loose.kind === "compiled") {
    const { regExp } = loose;
    const find = (line: string): { found: boolean; steps: number } => {
      const searched = line.slice(0, maxSearchedLength);
      return { found: regExp.test(searched), steps: searched.length * regExp.size };
    };
    return { find, note: "" };
  }
  const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
  const literal = fold(pattern);
  const find = (line: string): { found: boolean; steps: number } => ({ found: fold(line).includes(literal), steps: line.length });
  return { find, note: ` The pattern ${loose.problem}, so grep searched for the pattern as plain text.` };
}

/**
 * The maximum size of an answer, in bytes. This is less than the default `threshold` of the cache, which is in tokens, so an answer is
 * never itself stored in the cache.
 */
const maxBytes = 6_000;

export class Answer {
  readonly #lines: string[] = [];
  #bytes = 0;

  get count(): number {
    return this.#lines.length;
  }

  /**
   * Adds a line to the answer. Returns false if the answer is full. The first line always fits, because callers cut lines to less than
   * `maxBytes`.
   */
  add(line: string): boolean {
    const bytes = countBytes(line) + 1;
    if (this.#bytes + bytes > maxBytes) return false;
    this.#lines.push(line);
    this.#bytes += bytes;
    return true;
  }

  under(heading: string): string {
    return [heading, ...this.#lines].join("\n");
  }
}
