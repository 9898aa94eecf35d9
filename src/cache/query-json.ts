// Selects values from a JSON text with a JSONPath. The text and the path come from models, tools and servers, so the size of the
// text, the work of the query and the size of the answer are limited.

import { countBytes, cutText, isRecord, takeStart, toPlainError } from "../core/entry-kit.ts";
import { Answer } from "./look-up.ts";
import type { ReadRequest } from "./read-request.ts";
import type { Selection } from "./select-nodes.ts";

type JsonRequest = Extract<ReadRequest, { readonly action: "json" }>;

/**
 * The maximum lengths of a path and a value in the answer, in UTF-16 units. `onlyValue` applies to the value of a single match.
 */
const longest = { path: 250, value: 650, onlyValue: 1_700 };

export async function queryJson(text: string, { path, startMatch }: JsonRequest): Promise<string> {
  const document = parseDocument(text);
  // The JSONPath library is half as large as the rest of `turnwright/cache`, so the library is loaded only when needed.
  const { selectNodes } = await import("./select-nodes.ts");
  const { nodes, count, isWhole } = selectNodes(document, { path, startMatch, mostDepth });
  const total = isWhole ? String(count) : `at least ${count}`;
  const stopped = isWhole ? "" : " The search stopped because the path needs too much work: use a narrower path.";
  if (count === 0) return isWhole ? "The path matches nothing. The path $ shows how the text begins." : stopped.trim();
  if (nodes.length === 0) return `The path has ${total} matches, and none from ${startMatch} on.${stopped}`;
  const answer = new Answer();
  const longestValue = count === 1 ? longest.onlyValue : longest.value;
  for (const node of nodes) if (!answer.add(describeMatch(node, longestValue))) break;
  const next = startMatch + answer.count;
  const more = next <= count ? ` The rest did not fit: continue with start_match ${next}.` : "";
  return answer.under(`Matches ${startMatch} to ${next - 1} of ${total}.${more}${stopped}`);
}

function describeMatch(node: Selection["nodes"][number], longestValue: number): string {
  return `${cutText(node.getPath(), longest.path)}: ${briefJson(node.value, longestValue)}`;
}

/**
 * Writes a value as JSON, cut to `longest` UTF-16 units with "…" at the end. Reads no more of the value than it writes, because a
 * value can be a whole document.
 */
function briefJson(value: unknown, longest: number): string {
  const pieces = piecesOf(value, longest);
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length > longest) return cutText(text, longest);
  }
  return text;
}

function* piecesOf(value: unknown, longest: number): Generator<string> {
  if (Array.isArray(value)) {
    yield "[";
    for (let index = 0; index < value.length; index += 1) {
      if (index > 0) yield ",";
      yield* piecesOf(value[index], longest);
    }
    yield "]";
  } else if (isRecord(value)) {
    let separator = "{";
    for (const key in value) {
      yield `${separator}${scalarOf(key, longest)}:`;
      yield* piecesOf(value[key], longest);
      separator = ",";
    }
    yield separator === "{" ? "{}" : "}";
  } else yield scalarOf(value, longest);
}

/** Cuts a string before `JSON.stringify` copies it, because the string may have millions of characters. */
function scalarOf(value: unknown, longest: number): string {
  if (typeof value !== "string" || value.length <= longest) return JSON.stringify(value);
  return JSON.stringify(takeStart(value, longest + 1)).slice(0, -1);
}

/** The maximum size of a JSON text, in bytes. Parsing a text of this size takes about 0.1 seconds. */
export const mostJsonBytes: number = 8 * 1_024 * 1_024;

const mostValues = 1_000_000;

/** The library evaluates a path recursively, so deeper documents could overflow the stack. */
const mostDepth = 100;

function parseDocument(text: string): unknown {
  const bytes = countBytes(text);
  if (bytes > mostJsonBytes) throw tooLarge(bytes);
  const written = text.startsWith("\uFEFF") ? text.slice(1) : text;
  checkShape(written);
  try {
    return JSON.parse(written);
  } catch (error) {
    const reason = toPlainError(error).message.replace(/\.$/, "");
    throw new Error(`The text is not JSON: ${reason}. Use the actions read and grep.`, { cause: error });
  }
}

export function tooLarge(bytes: number): Error {
  return new Error(
    `The text has ${bytes} bytes, and json reads at most ${mostJsonBytes}. Use the actions grep and read to find the part that you need.`,
  );
}

const quote = 34;
const backslash = 92;
const comma = 44;
const openers: ReadonlySet<number> = new Set([91, 123]);
const closers: ReadonlySet<number> = new Set([93, 125]);

/**
 * Throws if the document has too many levels or values. Runs before `JSON.parse`, which could use too much memory for such a
 * document.
 */
function checkShape(text: string): void {
  let depth = 0;
  let values = 1;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index + 1);
    else if (unit === comma) values += 1;
    else if (openers.has(unit)) {
      depth += 1;
      values += 1;
    } else if (closers.has(unit)) depth -= 1;
    if (depth > mostDepth)
      throw new Error(`The JSON is nested more than ${mostDepth} levels deep. Use the actions read and grep.`);
    if (values > mostValues) throw new Error(`The JSON has more than ${mostValues} values. Use the actions read and grep.`);
  }
}

function endOfString(text: string, start: number): number {
  for (let index = start; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === backslash) index += 1;
    else if (unit === quote) return index;
  }
  return text.length;
}
