// The options of `openaiChat` and the request side of its wire.
// The wire's types are written down here, because any version of the SDK will do.

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

/** A piece of a message. */
export type ChatPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "input_audio"; readonly input_audio: { readonly data: string; readonly format: "wav" | "mp3" } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } };

/** A call in an assistant message. */
export interface ChatCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: unknown;
}

/** A message of a request. */
export type ChatMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user"; readonly content: string | readonly ChatPart[] }
  | {
      readonly role: "assistant";
      readonly content: string | null;
      readonly tool_calls?: readonly ChatCall[];
      readonly reasoning_content?: string;
      readonly reasoning?: string;
      readonly reasoning_details?: unknown;
    }
  | { readonly role: "tool"; readonly tool_call_id: string; readonly content: string | readonly ChatPart[] };

/** A tool as the model is shown it. */
export interface ChatTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
}

/** The body of a streaming request. Settings' `extra` may add any field to it. */
export interface ChatRequestBody {
  readonly model: string;
  readonly messages: readonly { readonly role: string }[];
  readonly stream: true;
}

/** The used part of an OpenAI client: `new OpenAI()` and `new AzureOpenAI()` of `openai` 5 and later have it. */
export interface OpenAIChatClient {
  readonly chat: {
    readonly completions: {
      create(body: ChatRequestBody, options: { readonly signal: AbortSignal }): PromiseLike<AsyncIterable<unknown>>;
    };
  };
}

/** How `openaiChat` reaches its model. */
export interface OpenAIChatOptions {
  /** The caller's own client; its `baseURL` may be that of any server that speaks Chat Completions. */
  readonly client: OpenAIChatClient;
  /** Such as "gpt-5". */
  readonly model: string;
  /** The service of the model, as `gen_ai.provider.name` has it. Default "openai". */
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
  /** The place of images and files of tool results. Default "user-message", after the results; few servers take them in a "tool-message". */
  readonly toolResultMedia?: "user-message" | "tool-message" | undefined;
  /**
   * Makes of a call id one that the server accepts: Mistral wants 9 letters and digits. Equal for equal ids, different for
   * different ones. Default: as it is.
   */
  readonly toWireCallId?: ((callId: string) => string) | undefined;
  /** The meanings of the server's words for why the model stopped: `{ "FUNCTION_CALL": "tool-calls" }`. They outrank the known ones. Default none. */
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
