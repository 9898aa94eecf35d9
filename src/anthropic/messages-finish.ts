// Stop reasons of the Messages wire.

import type { FinishReason, FinishWords } from "../core/provider-kit.ts";

/** `compaction` (beta) is a pause too: the turn, which holds the summary, is sent back and the model goes on. */
export const stopWords: FinishWords = new Map<string, FinishReason>([
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
  ["model_context_window_exceeded", "context-full"],
  ["refusal", "refusal"],
  ["pause_turn", "paused"],
  ["compaction", "paused"],
]);

/** Says why the model stopped. */
export function toFinishReason(raw: string, hasCalls: boolean, words: FinishWords = stopWords): FinishReason {
  const reason = words.get(raw) ?? "unknown";
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

/**
 * Whether the last block may be incomplete although the service has closed it, as it does with every block. A stop sequence may
 * have stood within arguments.
 */
export function mayBeCut(raw: string, words: FinishWords = stopWords): boolean {
  const reason = words.get(raw);
  return raw === "stop_sequence" || (reason !== "stop" && reason !== "tool-calls" && reason !== "paused");
}
