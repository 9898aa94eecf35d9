// Finish reasons of Chat Completions that OpenAI does not send.

import type { FinishReason } from "../core/provider-kit.ts";

/** Some services send `error` instead of an error event. */
export const otherChatWords: readonly (readonly [word: string, reason: FinishReason])[] = [
  // Together.
  ["eos", "stop"],
  // Mistral, when the context is full.
  ["model_length", "context-full"],
  // Zhipu (github.com/pydantic/pydantic-ai/issues/7678, github.com/earendil-works/pi/issues/1750).
  ["model_context_window_exceeded", "context-full"],
  ["sensitive", "content-filter"],
  ["network_error", "error"],
  ["abort", "error"],
  // DeepSeek.
  ["insufficient_system_resource", "error"],
  // OpenRouter and Mistral.
  ["error", "error"],
  // Bedrock (github.com/pydantic/pydantic-ai/issues/7816).
  ["guardrail_intervened", "content-filter"],
];
