// What the user said, in words.

import type { Message, UserMessage } from "../../types/message.ts";

/** The text of the last user message; empty where nobody has said anything. */
export function lastUserText(messages: readonly Message[]): string {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role === "user") return userTextOf(message);
  }
  return "";
}

/** The text of a message, its text parts a line each. */
export function userTextOf({ content }: UserMessage): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}
