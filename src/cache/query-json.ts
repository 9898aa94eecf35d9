// Selects values from a JSON text with a JSONPath. Both come from models, tools and servers, so the size of the document, the work
// of the query and the size of the returned text are limited.

import { cutText, isRecord } from "../core/entry-kit.ts";
import { Answer } from "./answer.ts";
import { mostDepth, parseDocument } from "./parse-document.ts";
import type { ReadRequest } from "./read-request.ts";
import type { Selection } from "./select-nodes.ts";

type JsonRequest = Extract<ReadRequest, { readonly action: "json" }>;

/** The maximum lengths of a shown path and value in UTF-16 units. A single match can be longer. */
const longest = { path: 250, value: 650, onlyValue: 1_700 };

/**
 * Returns the values that a JSONPath selects, one on each line, with the path of each value. Loads the JSONPath library when it is
 * first needed, because the library is half as large as the rest of this entry.
 */
export async function queryJson(text: string, { path, startMatch }: JsonRequest): Promise<string> {
  const document = parseDocument(text);
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
    // Unlike Object.entries, this loop does not read all keys first.
    for (const key in value) {
      yield `${separator}${scalarOf(key, longest)}:`;
      yield* piecesOf(value[key], longest);
      separator = ",";
    }
    yield separator === "{" ? "{}" : "}";
  } else yield scalarOf(value, longest);
}

/** A string is cut before it is written, because it may have millions of characters. */
function scalarOf(value: unknown, longest: number): string {
  if (typeof value !== "string" || value.length <= longest) return JSON.stringify(value);
  return JSON.stringify(value.slice(0, longest)).slice(0, -1);
}
