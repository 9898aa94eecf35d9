// Finds the summaries of compactions in the messages of requests.

import { type Message, summaryTitle } from "../../core/entry-kit.ts";
import type { LoggedRequest } from "../log/run-log.ts";
import { isSameText } from "./json-parts.ts";

/** True for the message that a request has in place of old messages. */
export function isSummary(message: Message | undefined): boolean {
  return message?.role === "user" && typeof message.content === "string" && message.content.startsWith(summaryTitle);
}

/** Returns the new messages of a request. After a compaction, messages of the previous request have other positions. */
export function newMessagesOf(request: LoggedRequest, before: LoggedRequest | undefined): readonly Message[] {
  const { added, keptCount } = request;
  if (before === undefined || keptCount === before.messageCount) return added;
  const known = before.messages();
  return added.filter((message) => !known.some((other) => isSameText(message, other)));
}
