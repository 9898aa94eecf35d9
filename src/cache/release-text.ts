import { isRecord, markSignal, type ToolContext, type ToolResult, toolResult } from "../core/entry-kit.ts";
import type { Shelf } from "./shelf.ts";

/**
 * Deletes a stored result, and releases the results of all earlier calls that read parts of this text. Texts of sources are not
 * deleted. Results that the caller passed in `messages` stay in requests, because the masking knows only the calls of the run.
 */
export async function releaseText(
  shelf: Shelf,
  id: string,
  { messages, toolName }: Pick<ToolContext, "messages"> & { readonly toolName: string },
): Promise<ToolResult> {
  const release = callsOf(messages, { id, toolName });
  const isDeleted = await shelf.remove(id);
  if (!isDeleted && release.length === 0)
    throw new Error("You have read no text with this id, and no stored result has this id.");
  const calls = release.length === 1 ? "1 earlier call" : `${release.length} earlier calls`;
  const data = `Released: the results of ${calls}.${isDeleted ? " The stored result is deleted." : ""}`;
  return markSignal(toolResult({ data }), { release });
}

/** Returns the ids of the completed calls that read the text. Failed calls always stay in requests. */
function callsOf(messages: ToolContext["messages"], of: { readonly id: string; readonly toolName: string }): readonly string[] {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const completed = new Set(results.filter(({ outcome }) => outcome === "completed").map(({ callId }) => callId));
  const parts = messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
  return parts.flatMap((part) => {
    if (part.type !== "tool-call" || part.name !== of.toolName || !completed.has(part.callId)) return [];
    const args = part.approvedArgs ?? part.args;
    return isRecord(args) && args["id"] === of.id && args["action"] !== "release" ? [part.callId] : [];
  });
}
