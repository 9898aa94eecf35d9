import type { AssistantMessage, Message, ToolResultPart } from "../../types/message.ts";
import { isRecord } from "../../utils/guards.ts";

/** The name of the tool of `withToolSearch`. */
const finderName = "find_tools";

/**
 * Returns the names of the tools that the messages call, or that a search in them has found. These tools are visible from the
 * start, in the order in which the earlier runs loaded them, so that the list of tools stays the same. A forged result can name any
 * tool, which is harmless: a visible tool still needs its gates and approvals.
 */
export function findLoadedTools(messages: readonly Message[]): ReadonlySet<string> {
  const names = new Set<string>();
  messages.forEach((message, index) => {
    if (message.role !== "assistant") return;
    const answers = messages[index + 1];
    const results = answers?.role === "tool" ? answers.results : [];
    for (const name of listLoaded(message, new Map(results.map((result) => [result.callId, result])))) names.add(name);
  });
  return names;
}

function listLoaded({ content }: AssistantMessage, results: ReadonlyMap<string, ToolResultPart>): readonly string[] {
  return content.flatMap((part): readonly string[] => {
    if (part.type !== "tool-call") return [];
    const result = results.get(part.callId);
    const isCalled = result?.outcome !== "unknown-tool" && result?.outcome !== "blocked";
    const found = part.name === finderName && result?.outcome === "completed" ? readFound(result.result) : [];
    return isCalled ? [part.name, ...found] : [];
  });
}

/** Reads the result of a search. A policy for results may have replaced it by something else. */
function readFound(result: unknown): readonly string[] {
  const tools: unknown = isRecord(result) ? result["tools"] : undefined;
  if (!Array.isArray(tools)) return [];
  return tools.flatMap((tool: unknown) => (isRecord(tool) && typeof tool["name"] === "string" ? [tool["name"]] : []));
}
