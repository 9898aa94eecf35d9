// Finish reasons of the Chat Completions wire and of the servers that extend it.

import type { FinishReason } from "../../spi.ts";

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
const reasons: ReadonlyMap<string, FinishReason> = new Map([
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
export function toFinishReason(raw: string, { hasCalls, refused }: FinishedTurn): FinishReason {
  const reason = reasons.get(raw) ?? "unknown";
  if (reason !== "stop" && reason !== "tool-calls") return reason;
  if (refused) return "refusal";
  return hasCalls ? "tool-calls" : reason;
}

/** Whether the model was stopped in mid-word, so that its last call may be incomplete. */
export function isCut(raw: string): boolean {
  const reason = reasons.get(raw);
  return reason === "length" || reason === "context-full";
}

/** Whether a later finish reason may take the place of this one: a bad end is never made good by a second chunk that says "stop". */
export function isCleanEnd(raw: string): boolean {
  const reason = reasons.get(raw);
  return reason === "stop" || reason === "tool-calls";
}
