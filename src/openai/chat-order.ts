import { continueText, openingText, resultsReadText } from "../core/provider-kit.ts";
import type { ChatQuirks } from "../services/service.ts";
import type { ChatMessage, ChatPart } from "./chat-options.ts";

type Order = Pick<ChatQuirks, "answersTools" | "alternates" | "endsWithUser">;

const opening: ChatMessage = { role: "user", content: openingText };
const continuation: ChatMessage = { role: "user", content: continueText };
const resultsRead: ChatMessage = { role: "assistant", content: resultsReadText };

/** Arranges the messages in an order that the service accepts. Messages that need no change stay the same objects. */
export function orderMessages(messages: readonly ChatMessage[], order: Order): readonly ChatMessage[] {
  const ordered: ChatMessage[] = [];
  for (const message of messages) {
    const last = ordered.at(-1);
    const merged = order.alternates === true && last !== undefined ? mergeMessages(last, message) : undefined;
    if (merged !== undefined) ordered.pop();
    else ordered.push(...toSeparator(last, message, order));
    ordered.push(merged ?? message);
  }
  if (order.endsWithUser === true && ordered.at(-1)?.role === "assistant") ordered.push(continuation);
  return ordered;
}

function toSeparator(last: ChatMessage | undefined, { role }: ChatMessage, order: Order): readonly ChatMessage[] {
  if (order.answersTools === true && role === "user" && last?.role === "tool") return [resultsRead];
  const isFirst = last === undefined || last.role === "system";
  return order.alternates === true && role === "assistant" && isFirst ? [opening] : [];
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
