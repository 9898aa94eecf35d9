import { separateRoles } from "../services/separate-roles.ts";
import type { Quirks } from "../services/service.ts";
import type { ChatMessage, ChatPart } from "./chat-options.ts";

/** Arranges the messages in an order that the service accepts. Messages that need no change stay the same objects. */
export function orderMessages(messages: readonly ChatMessage[], quirks: Quirks): readonly ChatMessage[] {
  const { emptyText, callText = null } = quirks;
  const filled = emptyText === undefined ? messages : messages.map((message) => fillMessage(message, { emptyText, callText }));
  return separateRoles(quirks.alternates === true ? mergeRoles(filled) : filled, quirks, (role, content) => ({ role, content }));
}

interface Fillings {
  readonly emptyText: string;
  readonly callText: string | null;
}

/** Replaces a blank content, leaves out blank parts, and adds a text to files, because Bedrock refuses a document without one. */
function fillMessage(message: ChatMessage, { emptyText, callText }: Fillings): ChatMessage {
  if (message.role === "assistant" && message.tool_calls !== undefined)
    return isBlank(message.content) ? { ...message, content: callText } : message;
  if (message.role === "system" || message.role === "assistant" || typeof message.content === "string")
    return isBlank(message.content) ? { ...message, content: emptyText } : message;
  const { content } = message;
  const parts = content.filter((part) => part.type !== "text" || !isBlank(part.text));
  if (parts.length === 0) return { ...message, content: emptyText };
  const needsText = parts.some(({ type }) => type === "file") && parts.every(({ type }) => type !== "text");
  if (needsText) return { ...message, content: [{ type: "text", text: "The file:" }, ...parts] };
  return parts.length === content.length ? message : { ...message, content: parts };
}

function isBlank(content: UserContent | null): boolean {
  return typeof content === "string" && content.trim() === "";
}

function mergeRoles(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const merged: ChatMessage[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const both = last?.role === message.role ? mergeMessages(last, message) : undefined;
    if (both === undefined) merged.push(message);
    else merged[merged.length - 1] = both;
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
