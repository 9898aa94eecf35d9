import type { FinishReason } from "../types/provider.ts";
import type { FinishWords } from "./judge-finish.ts";

/** Finish reasons that servers and gateways add, or pass on from another API, in lower case. */
const passedOn: FinishWords = new Map<string, FinishReason>([
  // Anthropic's, in Chat Completions (github.com/maximhq/bifrost/issues/617, github.com/aws-samples/bedrock-access-gateway/issues/11).
  ["end_turn", "stop"],
  ["stop_sequence", "stop"],
  ["tool_use", "tool-calls"],
  ["max_tokens", "length"],
  ["refusal", "refusal"],
  ["model_context_window_exceeded", "context-full"],
  // OpenAI's, in Messages (github.com/router-for-me/CLIProxyAPI/pull/3133).
  ["stop", "stop"],
  ["tool_calls", "tool-calls"],
  ["length", "length"],
  ["max_output_tokens", "length"],
  ["content_filter", "content-filter"],
  // Text Generation Inference (github.com/huggingface/text-generation-inference/pull/2344).
  ["eos_token", "stop"],
  // Gemini's. Its OpenAI endpoint writes "function_call_filter: MALFORMED_FUNCTION_CALL" and "content_filter: PROHIBITED_CONTENT"
  // (generativelanguage.googleapis.com, September 2026).
  ["function_call_filter", "malformed-call"],
  ["malformed_function_call", "malformed-call"],
  ["unexpected_tool_call", "malformed-call"],
  ["safety", "content-filter"],
  ["recitation", "content-filter"],
  ["blocklist", "content-filter"],
  ["prohibited_content", "content-filter"],
  ["spii", "content-filter"],
  // Together.
  ["eos", "stop"],
  // Mistral, when the context is full.
  ["model_length", "context-full"],
  // OpenRouter and Mistral, instead of an error event.
  ["error", "error"],
  // Zhipu (github.com/pydantic/pydantic-ai/issues/7678, github.com/earendil-works/pi/issues/1750). `abort`: also SGLang and vLLM.
  ["sensitive", "content-filter"],
  ["network_error", "error"],
  ["abort", "error"],
  // DeepSeek.
  ["insufficient_system_resource", "error"],
  // Bedrock (github.com/pydantic/pydantic-ai/issues/7816).
  ["guardrail_intervened", "content-filter"],
]);

/**
 * Returns the meaning of a finish reason. If `words` does not list it, returns its meaning in other APIs, without regard to case
 * and to details after a colon.
 */
export function meaningOf(raw: string, words?: FinishWords): FinishReason {
  return words?.get(raw) ?? passedOn.get(raw.split(":", 1).join("").trim().toLowerCase()) ?? "unknown";
}
