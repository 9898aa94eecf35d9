// Finish reasons of generateContent.

import type { FinishReason, FinishWords } from "../core/provider-kit.ts";

/** The service says STOP for calls too. What it does not say here, such as FINISH_REASON_UNSPECIFIED, is unknown. */
export const generateWords: FinishWords = new Map<string, FinishReason>([
  ["STOP", "stop"],
  ["MAX_TOKENS", "length"],
  ["SAFETY", "content-filter"],
  ["RECITATION", "content-filter"],
  ["LANGUAGE", "content-filter"],
  ["BLOCKLIST", "content-filter"],
  ["PROHIBITED_CONTENT", "content-filter"],
  ["SPII", "content-filter"],
  ["MODEL_ARMOR", "content-filter"],
  ["IMAGE_SAFETY", "content-filter"],
  ["IMAGE_PROHIBITED_CONTENT", "content-filter"],
  ["IMAGE_RECITATION", "content-filter"],
  ["MALFORMED_FUNCTION_CALL", "malformed-call"],
  ["UNEXPECTED_TOOL_CALL", "malformed-call"],
  ["MALFORMED_RESPONSE", "error"],
  ["TOO_MANY_TOOL_CALLS", "error"],
  ["OTHER", "error"],
  ["NO_IMAGE", "error"],
  ["IMAGE_OTHER", "error"],
  ["CONTINUATION", "continue"],
]);

/** What the turn held when it ended. */
export interface FinishedTurn {
  readonly hasCalls: boolean;
  /** Whether there is a token to go on with. */
  readonly hasToken: boolean;
}

/** Says why the model stopped. An answer that is to be continued and cannot be is one that was cut off. */
export function toFinishReason(
  raw: string,
  { hasCalls, hasToken }: FinishedTurn,
  words: FinishWords = generateWords,
): FinishReason {
  const reason = words.get(raw) ?? "unknown";
  if (reason === "continue" && !hasToken) return "length";
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

/** Whether a later finish reason may take the place of this one: a bad end is never made good by a second chunk that says STOP. */
export function isCleanEnd(raw: string, words: FinishWords = generateWords): boolean {
  const reason = words.get(raw);
  return reason === "stop" || reason === "tool-calls";
}

/** Whether a turn that ended so goes back to the service as it came. What was filtered or broken does not. */
export function isKept(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls" || reason === "length" || reason === "continue";
}
