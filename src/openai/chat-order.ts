import { separateRoles } from "../services/separate-roles.ts";
import type { ChatQuirks } from "../services/service.ts";
import type { ChatMessage, ChatPart } from "./chat-options.ts";

/** Arranges the messages in an order that the service accepts. Messages that need no change stay the same objects. */
export function orderMessages(messages: readonly ChatMessage[], quirks: ChatQuirks): readonly ChatMessage[] {
  const { emptyText } = quirks;
  const filled = emptyText === undefined ? messages : messages.map((message) => fillMessage(message, emptyText));
  return separateRoles(quirks.alternates === true ? mergeRoles(filled) : filled, quirks, (role, content) => ({ role, content }));
}

/** Replaces blank texts, and adds a text to files, because Bedrock refuses a document without one. */
function fillMessage(message: ChatMessage, text: string): ChatMessage {
  if (typeof message.content === "string") return message.content.trim() === "" ? { ...message, content: text } : message;
  if (message.role !== "user") return message;
  const { content } = message;
  if (content.some(isBlankText))
    return { ...message, content: content.map((part) => (isBlankText(part) ? { type: "text", text } : part)) };
  const needsText = content.some(({ type }) => type === "file") && content.every(({ type }) => type !== "text");
  return needsText ? { ...message, content: [{ type: "text", text: "The file:" }, ...content] } : message;
}

function isBlankText(part: ChatPart): boolean {
  return part.type === "text" && part.text.trim() === "";
}

function mergeRoles(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const merged: ChatMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const both = last === undefined ? undefined : mergeMessages(last, message);
    if (both !== undefined) merged.pop();
    merged.push(both ?? message);
  }
  return merged;
}

/** Returns undefined if the messages need not be merged. The calls of a message stay directly before their results. */
function mergeMessages(first: ChatMessage, second: ChatMessage): ChatMessage | undefined {
  if (first.role === "user" && second.role === "user")
    return { role: "user", content: joinContent(first.content, second.content) };
  if (first.role !== "assistant" || second.role !== "assistant" || first.tool_calls !== undefined) return undefined;
  const content = [first.content, second.content].filter((text) => text !== null).join("\n\n");
  return { ...first, ...second, content };
}

type UserContent = string | readonly ChatPart[];

function joinContent(first: UserContent, second: UserContent): UserContent {
  if (typeof first === "string" && typeof second === "string") return `${first}\n\n${second}`;
  return [...toParts(first), ...toParts(second)];
}

function toParts(content: UserContent): readonly ChatPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}
