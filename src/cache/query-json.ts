// Selects values from a JSON text with a JSONPath. Both come from models, tools and servers, so the size of the document, the work
// of the query and the size of the returned text are limited.

import { cutText } from "../core/entry-kit.ts";
import { Answer } from "./answer.ts";
import { briefJson } from "./brief-json.ts";
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
