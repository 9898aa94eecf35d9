// The options of `openaiChat`, checked before anything is sent.

import {
  checkFields,
  checkRequired,
  type Checks,
  type FinishReason,
  finishReasonsCheck,
  is,
  isFilled,
  isRecord,
  oneOf,
} from "../core/provider-kit.ts";
import type { OpenAIChatClient } from "./chat-wire.ts";

/** How `openaiChat` reaches its model. */
export interface OpenAIChatOptions {
  /** The caller's own client; its `baseURL` may be that of any server that speaks Chat Completions. */
  readonly client: OpenAIChatClient;
  /** Such as "gpt-5". */
  readonly model: string;
  /** Who serves the model, as `gen_ai.provider.name` has it. Default "openai". */
  readonly id?: string | undefined;
  /** API family that policies may ask for. Default none. */
  readonly family?: string | undefined;
  /** Whether to ask for token counts by `stream_options`. Default true; false for servers that refuse the field. */
  readonly includeUsage?: boolean | undefined;
  /** The field for `maxOutputTokens`. Default "max_completion_tokens"; many compatible servers know only "max_tokens". */
  readonly maxTokensField?: "max_completion_tokens" | "max_tokens" | undefined;
  /**
   * The field in which a turn's reasoning is sent back. Default none, for most servers refuse it. DeepSeek and Kimi, when
   * thinking, answer 400 without "reasoning_content"; where a turn has no reasoning a single space is sent.
   */
  readonly echoReasoning?: "reasoning_content" | "reasoning" | undefined;
  /** Where images and files of tool results go. Default "user-message", after the results; few servers take them in a "tool-message". */
  readonly toolResultMedia?: "user-message" | "tool-message" | undefined;
  /**
   * Makes of a call id one that the server accepts: Mistral wants 9 letters and digits. Equal for equal ids, different for
   * different ones. Default: as it is.
   */
  readonly toWireCallId?: ((callId: string) => string) | undefined;
  /** What words of the server for why the model stopped mean: `{ "FUNCTION_CALL": "tool-calls" }`. They outrank the known ones. Default none. */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
}

/** The options with their defaults. */
export interface ChatSettings {
  readonly client: OpenAIChatClient;
  readonly model: string;
  readonly id: string;
  readonly family: string | undefined;
  readonly includeUsage: boolean;
  readonly maxTokensField: "max_completion_tokens" | "max_tokens";
  readonly echoReasoning: "reasoning_content" | "reasoning" | undefined;
  readonly toolResultMedia: "user-message" | "tool-message";
  readonly toWireCallId: (callId: string) => string;
}

const checks: Checks<OpenAIChatOptions> = {
  client: ["an OpenAI client", isChatClient],
  model: ["the name of a model", isFilled],
  id: is.name,
  family: is.name,
  includeUsage: is.flag,
  maxTokensField: oneOf("max_completion_tokens", "max_tokens"),
  echoReasoning: oneOf("reasoning_content", "reasoning"),
  toolResultMedia: oneOf("user-message", "tool-message"),
  toWireCallId: is.fn,
  finishReasons: finishReasonsCheck,
};

/** Fills in the defaults. Throws LoopError `invalid-option` or `unknown-option`. */
export function checkChatOptions(options: OpenAIChatOptions): ChatSettings {
  checkFields("options", options, checks);
  checkRequired(options, checks, ["client", "model"]);
  const { client, model, id = "openai", family, includeUsage = true } = options;
  const {
    maxTokensField = "max_completion_tokens",
    echoReasoning,
    toolResultMedia = "user-message",
    toWireCallId = (callId) => callId,
  } = options;
  return { client, model, id, family, includeUsage, maxTokensField, echoReasoning, toolResultMedia, toWireCallId };
}

function isChatClient(value: unknown): boolean {
  if (!isRecord(value) || !isRecord(value.chat) || !isRecord(value.chat.completions)) return false;
  return typeof value.chat.completions.create === "function";
}
