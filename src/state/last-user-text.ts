// What the user said last.

import type { Message } from "../contract/message.ts";

/** The text of the last user message, its text parts a line each; empty where nobody has said anything. */
export function lastUserText(messages: readonly Message[]): string {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role !== "user") continue;
    const { content } = message;
    if (typeof content === "string") return content;
    return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
  }
  return "";
}
