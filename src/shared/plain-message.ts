import type { AssistantMessage, ToolCallPart, ToolResultPart } from "../core/types/message.ts";

/**
 * The content of a message that any model can read. Reasoning is omitted because a service rejects reasoning without its
 * signature, and a different model cannot use it.
 */
export interface PlainMessage {
  /** All text parts of the message, concatenated. */
  readonly text: string;
  readonly calls: readonly ToolCallPart[];
}

/** Returns an assistant message's text and calls. */
export function readAssistantMessage({ content }: Pick<AssistantMessage, "content">): PlainMessage {
  let text = "";
  const calls: ToolCallPart[] = [];
  for (const part of content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "tool-call") calls.push(part);
  }
  return { text, calls };
}

/** True if a tool call has succeeded. Also true for a call that restarted the context. */
export function hasSucceeded({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return outcome === "completed" || outcome === "restarted";
}
