// Answers what a model asks of a cached result. What it says is bounded, and so is the work, whatever the pattern and the text.

import { assertNever } from "../../kit/assert-never.ts";
import { countBytes, estimateTokens } from "../../kit/estimate-tokens.ts";
import { compileLinearRegExp } from "../../kit/linear-regexp/linear-regexp.ts";
import type { CacheRequest } from "./cache-request.ts";
import { toLines } from "./text-lines.ts";

/** Longest answer in bytes: below the default threshold of the cacher, so that an answer is not cached in turn. */
const mostBytes = 6_000;

/** Steps of a search, before it has to be gone on with: well under a second. */
const mostSteps = 10_000_000;

/** What looking at a line costs beside the steps of its search. */
const stepsPerLine = 100;

/** The answer to one request. */
export function lookUp(text: string, request: CacheRequest): string {
  const lines = toLines(text);
  switch (request.action) {
    case "read":
      return showLines(lines, { from: request.startLine, to: request.endLine ?? lines.length });
    case "head":
      return showLines(lines, { from: 1, to: request.lines });
    case "tail":
      return showLines(lines, { from: Math.max(1, lines.length - request.lines + 1), to: lines.length });
    case "grep":
      return findLines(lines, request);
    case "stats":
      return `Lines: ${lines.length}. Bytes: ${countBytes(text)}. Tokens: about ${estimateTokens(text)}.`;
    default:
      return assertNever(request);
  }
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function showLines(lines: readonly string[], { from, to }: Range): string {
  const last = Math.min(to, lines.length);
  if (from > last) return `There are ${lines.length} lines; none from ${from} to ${to}.`;
  const answer = new Answer();
  let next = from;
  while (next <= last && answer.add(lines[next - 1] ?? "")) next += 1;
  const more = next <= last ? ` The rest did not fit: go on with start_line ${next}.` : "";
  return answer.under(`Lines ${from} to ${next - 1} of ${lines.length}.${more}`);
}

type Grep = Extract<CacheRequest, { readonly action: "grep" }>;

function findLines(lines: readonly string[], { pattern, ignoreCase, startLine }: Grep): string {
  const { find, note } = createSearch(pattern, ignoreCase);
  const answer = new Answer();
  let next = startLine;
  for (let steps = 0; next <= lines.length && steps < mostSteps; next += 1) {
    const line = lines[next - 1] ?? "";
    const searched = find(line);
    steps += searched.steps + stepsPerLine;
    if (searched.found && !answer.add(`${next}: ${line}`)) break;
  }
  const more = next <= lines.length ? ` There may be more: go on with start_line ${next}.` : "";
  const found = `${answer.count} matching ${answer.count === 1 ? "line" : "lines"} in lines ${startLine} to ${next - 1} of ${lines.length}.`;
  return answer.under(found + more + note);
}

interface Search {
  find(line: string): { readonly found: boolean; readonly steps: number };
  readonly note: string;
}

/** What cannot be searched for as an expression is searched for as it is written. */
function createSearch(pattern: string, ignoreCase: boolean): Search {
  const compiled = compileLinearRegExp(pattern, ignoreCase ? "iu" : "u");
  const loose = compiled.kind === "compiled" ? compiled : compileLinearRegExp(pattern, ignoreCase ? "i" : "");
  if (loose.kind === "compiled") {
    const { regExp } = loose;
    const find = (line: string): { found: boolean; steps: number } => {
      const { range, steps } = regExp.find(line);
      return { found: range !== undefined, steps };
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
