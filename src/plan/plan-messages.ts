// What is said to a model that cannot call tools: the conversation in words, and what the tools have given as data behind it.

import type { Json } from "../contract/json.ts";
import type { AssistantMessage, Message, UserMessage } from "../contract/message.ts";
import type { RequestTranscript } from "../contract/provider.ts";
import { isNativePlan, type PlanRecord } from "./plan-record.ts";

/** The conversation without calls and their results; a turn that goes on stays at its end. */
export function conversationOf(messages: readonly Message[]): readonly Message[] {
  return messages.flatMap((message): readonly Message[] => {
    if (message.role === "tool") return [];
    return message.role === "user" ? [message] : spoken(message);
  });
}

/** What a turn said, if anything. What its provider wrote itself stays only where nothing was taken out. */
function spoken({ role, content, native }: AssistantMessage): readonly AssistantMessage[] {
  const said = content.filter((part) => part.type !== "tool-call");
  if (said.length === 0) return [];
  const own = said.length === content.length ? native?.filter(({ item }) => !isNativePlan(item)) : undefined;
  return [own === undefined || own.length === 0 ? { role, content: said } : { role, content: said, native: own }];
}

/** What the user wants of this run, in words: what was said last before it, and all that was said since. */
export function userInputOf({ messages, given }: RequestTranscript): string {
  let first = given;
  while (first > 0 && messages[first - 1]?.role !== "user") first -= 1;
  while (first > 0 && messages[first - 1]?.role === "user") first -= 1;
  const said = messages.slice(first).flatMap((message) => (message.role === "user" ? [wordsOf(message)] : []));
  return said.join("\n\n");
}

function wordsOf({ content }: UserMessage): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** The records by their purposes; a purpose that comes again is numbered. */
function toActionResults(records: readonly PlanRecord[]): { readonly [purpose: string]: Json } {
  const results = new Map<string, Json>();
  for (const { purpose, tool_name, success, result, error } of records) {
    const name = purpose === "" ? tool_name : purpose;
    let key = name;
    for (let copy = 2; results.has(key); copy += 1) key = `${name} (${copy})`;
    results.set(key, success ? result : { error });
  }
  return Object.fromEntries(results);
}

/** The conversation with what the tools gave behind the words of the user, before a turn that goes on. */
export function withResults(
  conversation: readonly Message[],
  records: readonly PlanRecord[],
  instruction: string,
): readonly Message[] {
  if (records.length === 0) return conversation;
  const text = JSON.stringify({ action_results: toActionResults(records), extra_instruction: instruction }, undefined, 2);
  const end = conversation.at(-1)?.role === "assistant" ? conversation.length - 1 : conversation.length;
  return [...conversation.slice(0, end), { role: "user", content: text }, ...conversation.slice(end)];
}
