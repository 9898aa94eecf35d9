// Finish reasons of the Chat Completions wire and of the servers that extend it.

import type { FinishReason, FinishWords } from "../core/provider-kit.ts";

/** What the turn held when it ended. */
export interface FinishedTurn {
  readonly hasCalls: boolean;
  readonly refused: boolean;
}

/**
 * OpenAI's own: stop, length, tool_calls, function_call, content_filter. Others: `eos` (Together), `model_length` (Mistral: the
 * context is full), `insufficient_system_resource` (DeepSeek), `sensitive`, `network_error` and `model_context_window_exceeded`
 * (Zhipu), `error` (OpenRouter, Mistral).
 */
export const chatWords: FinishWords = new Map<string, FinishReason>([
  ["stop", "stop"],
  ["eos", "stop"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["length", "length"],
  ["model_length", "context-full"],
  ["model_context_window_exceeded", "context-full"],
  ["content_filter", "content-filter"],
  ["sensitive", "content-filter"],
  ["error", "error"],
  ["network_error", "error"],
  ["insufficient_system_resource", "error"],
]);

/** Says why the model stopped. A refusal ends with "stop" on this wire, and some servers end with "stop" although they ask for tools. */
export function toFinishReason(reason: FinishReason, { hasCalls, refused }: FinishedTurn): FinishReason {
  if (!isCleanEnd(reason)) return reason;
  if (refused) return "refusal";
  return hasCalls ? "tool-calls" : reason;
}

/** Whether the model was stopped in mid-word, so that its last call may be incomplete. */
export function isCut(reason: FinishReason): boolean {
  return reason === "length" || reason === "context-full";
}

/** Whether a later finish reason may take the place of this one: a bad end is never made good by a second chunk that says "stop". */
export function isCleanEnd(reason: FinishReason): boolean {
  return reason === "stop" || reason === "tool-calls";
}
