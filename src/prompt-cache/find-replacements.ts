// Finds the texts with which policies of the run replaced messages: the notes of masked results, and summaries.

import { type CacheBreakCause, type ModelRequest, userTextOf } from "../core/entry-kit.ts";

/** A text that replaced other content on purpose. */
export interface Replacement {
  readonly kind: Extract<CacheBreakCause["kind"], "messages-masked" | "messages-compacted">;
  /** The text as it is inside a JSON string. Adapters send it unchanged in every format. */
  readonly text: string;
}

/**
 * Compares the messages of a request with the transcript, which policies do not change. A tool message that is not in the transcript
 * has masked results. A user message that is not in the transcript is a summary, unless it is the context at the end.
 */
export function findReplacements({ messages, transcript }: ModelRequest): readonly Replacement[] {
  if (transcript === undefined) return [];
  const kept = new Set<object>();
  for (const message of transcript.messages) {
    kept.add(message);
    if (message.role === "tool") for (const part of message.results) kept.add(part);
  }
  return messages.flatMap((message): readonly Replacement[] => {
    if (message.role === "assistant" || kept.has(message)) return [];
    if (message.role === "user") return toReplacements("messages-compacted", userTextOf(message));
    return message.results.flatMap((part) => (kept.has(part) ? [] : toReplacements("messages-masked", part.result)));
  });
}

function toReplacements(kind: Replacement["kind"], text: unknown): readonly Replacement[] {
  return typeof text === "string" && text !== "" ? [{ kind, text: JSON.stringify(text).slice(1, -1) }] : [];
}
