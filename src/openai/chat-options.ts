// Declares the API's types instead of importing them, so that any SDK version works.

import {
  adapterChecks,
  type AdapterOptions,
  clientCheck,
  refuseBare,
  settle,
  type Settled,
} from "../shared/adapters/adapter-options.ts";
import { checkFields, type Checks, is } from "../core/kit.ts";
import { idRules, toWireId } from "../shared/adapters/wire-names.ts";
import { findQuirks, serviceCheck } from "../services/find-quirks.ts";
import type { Quirks, ServiceName } from "../services/service.ts";
import type { ThinkTags } from "./think-tags.ts";
import { enforcesSchemas } from "./wire-values.ts";

export type ChatPart =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "image_url"; readonly image_url: { readonly url: string } }
  | { readonly type: "input_audio"; readonly input_audio: { readonly data: string; readonly format: "wav" | "mp3" } }
  | { readonly type: "file"; readonly file: { readonly filename: string; readonly file_data: string } };

export interface ChatCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
  readonly extra_content?: unknown;
}

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

export interface ChatTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
}

/** A request body. The run's `modelSettings.extra` option can add any field. It may also set `stream` to false. */
export interface ChatRequestBody {
  readonly model: string;
  readonly messages: readonly { readonly role: string }[];
  readonly stream: true;
}

/** The methods that `openaiChat` calls on an OpenAI client: `new OpenAI()` or `new AzureOpenAI()` from `openai` 5 or later. */
export interface OpenAIChatClient {
  readonly chat: {
    readonly completions: {
      create(body: ChatRequestBody, options: { readonly signal: AbortSignal }): PromiseLike<AsyncIterable<unknown>>;
    };
  };
}

/** The options for `openaiChat`. */
export interface OpenAIChatOptions extends AdapterOptions {
  /**
   * The client that sends the requests. Its `baseURL` may be the address of any server that implements the Chat Completions API.
   */
  readonly client: OpenAIChatClient;
  /** The model's name, for example "gpt-5". */
  readonly model: string;
  /** The name of the service that runs the model, as in the OpenTelemetry attribute `gen_ai.provider.name`. Default "openai". */
  readonly id?: string | undefined;
  /**
   * The service whose rules the requests follow, for example "mistral". docs/guides/providers.md lists the rules of each service. Default:
   * detected from the host of the client's `baseURL`, from `id` or from the port. Some models, such as Mistral's, have their own rules at
   * every address.
   */
  readonly service?: ServiceName | undefined;
  /** True to request token counts with `stream_options`. Set to `false` for servers that reject this field. Default true. */
  readonly includeUsage?: boolean | undefined;
  /**
   * The request field for `maxOutputTokens`. Default: the field of the service, or "max_completion_tokens" for an unknown service.
   * Many compatible servers only support "max_tokens".
   */
  readonly maxTokensField?: "max_completion_tokens" | "max_tokens" | undefined;
  /**
   * The field in which reasoning is sent back. In a message without reasoning, the field contains a single space. Default:
   * "reasoning_content" for models that require it, such as DeepSeek V4 and Kimi. Other reasoning is not sent back, because most
   * servers reject it.
   */
  readonly echoReasoning?: "reasoning_content" | "reasoning" | undefined;
  /**
   * How images and files from tool results are sent. "user-message": in a user message after the results. "tool-message": in the
   * message with the result, which few servers accept. Default "user-message".
   */
  readonly toolResultMedia?: "user-message" | "tool-message" | undefined;
  /**
   * Converts a call id to an id that the server accepts. The function must always return the same id for the same call id, and different
   * ids for different call ids. By default, an id that the service would reject is replaced. Mistral accepts exactly 9 letters and digits,
   * and most services accept at most 40 characters.
   */
  readonly toWireCallId?: ((callId: string) => string) | undefined;
  /**
   * The `prompt_cache_key` of each request. The service chooses a server based on this key and the beginning of the request. Requests with
   * the same key and beginning reach the same server and share its prompt cache. Use one key for requests that share a long beginning. The
   * key can be the name of the agent, or the names of the agent and the customer. According to OpenAI, a server takes about 15 requests per
   * minute with the same key and beginning. Additional requests go to other servers, so a busy agent needs several keys. Default: no key.
   * The service then uses only the beginning.
   */
  readonly promptCacheKey?: string | undefined;
  /**
   * Set to true to send the schema of `structuredOutput` in the `response_format` field, so that the service enforces it. Set to
   * false for servers and models that reject the field. The schema is then described in the system text. Default: true for OpenAI's
   * own address, except for models older than GPT-4o, fine-tuned models and audio models; otherwise false.
   */
  readonly structuredOutput?: boolean | undefined;
  /**
   * How to read reasoning that the server leaves in the text, between `<think>` and `</think>`. With true, such text at the beginning of an
   * answer becomes reasoning. Set to "opened" if the model's chat template already writes the opening tag. All text up to `</think>` then
   * becomes reasoning. If this tag never arrives, the whole answer is sent as text at its end. Set to false to keep the tags in the text.
   * The default depends on the service and model: true for unknown ones, and "opened" for DeepSeek R1, QwQ and Qwen3 Thinking.
   */
  readonly thinkTags?: boolean | "opened" | undefined;
}

type ChatDefaults = "id" | "includeUsage" | "maxTokensField" | "toolResultMedia" | "toWireCallId" | "thinkTags";

export interface ChatSettings extends Settled<OpenAIChatOptions, ChatDefaults> {
  readonly structuresOutput: boolean;
  readonly quirks: Quirks;
}

const sdkClient = /* @__PURE__ */ clientCheck("an OpenAI client", "chat", "completions", "create");

const checks: Checks<OpenAIChatOptions> = {
  client: sdkClient,
  ...adapterChecks,
  service: serviceCheck,
  includeUsage: is.flag,
  maxTokensField: ["max_completion_tokens", "max_tokens"],
  echoReasoning: ["reasoning_content", "reasoning"],
  toolResultMedia: ["user-message", "tool-message"],
  toWireCallId: is.fn,
  promptCacheKey: is.name,
  thinkTags: ['true, false or "opened"', (value) => typeof value === "boolean" || value === "opened"],
};

export function checkChatOptions(options: OpenAIChatOptions): ChatSettings {
  refuseBare(options, sdkClient, ["client", 'openaiChat({ client, model: "gpt-5" })']);
  checkFields("options", options, checks);
  const quirks = findQuirks(options);
  const { structuredOutput, echoReasoning } = options;
  const settled = settle<OpenAIChatOptions, ChatDefaults>(options, {
    id: "openai",
    includeUsage: true,
    maxTokensField: quirks.maxTokensField ?? "max_completion_tokens",
    toolResultMedia: "user-message",
    toWireCallId: createIdConverter(quirks),
    thinkTags: toThinkTags(quirks),
  });
  const structuresOutput = structuredOutput ?? enforcesSchemas(options.client, options.model);
  return { ...settled, echoReasoning: echoReasoning ?? quirks.echoReasoning, structuresOutput, quirks };
}

function createIdConverter({ callIds }: Quirks): (callId: string) => string {
  return (callId) => (callIds === "any" ? callId : toWireId(callId, idRules[callIds ?? "chat"]));
}

function toThinkTags({ thinkTags, separatesReasoning }: Quirks): ThinkTags {
  return thinkTags === "opened" && separatesReasoning === true ? true : (thinkTags ?? true);
}
