// The options of `anthropicMessages`, and the request types of the API. The types are defined here, so that any version of the
// SDK can be used.

import {
  checkFields,
  checkRequired,
  type Checks,
  type FinishReason,
  finishReasonsCheck,
  invalidOption,
  isFilled,
  isRecord,
  type Json,
} from "../core/provider-kit.ts";

/** A block of a message, a system text or a tool result. Blocks of the model may have any type and fields. */
export interface WireBlock {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** A message of a request. Its content is always a list, so that a cache mark changes nothing else. */
export interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly WireBlock[];
}

/** The server's container for code and files. */
export interface WireContainer {
  readonly id: string;
  /** ISO 8601. */
  readonly expires_at?: string | undefined;
}

/** The body of a streaming request. `extra` of the settings may add any field. */
export interface MessagesRequestBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly { readonly role: string }[];
  readonly stream: true;
}

/** The options of a request. */
export interface MessagesRequestOptions {
  readonly signal: AbortSignal;
  readonly headers?: { readonly [name: string]: string };
}

/** The used part of an Anthropic client: `new Anthropic()` of `@anthropic-ai/sdk`, or one of the clients for Bedrock and Vertex. */
export interface AnthropicMessagesClient {
  readonly messages: {
    create(body: MessagesRequestBody, options: MessagesRequestOptions): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** How the model thinks, in the format of the API: `{ type: "adaptive" }`, `{ type: "enabled", budget_tokens: 4_000 }`. */
export interface AnthropicThinking {
  readonly type: string;
  /** For type "enabled": tokens, fewer than the limit of the whole answer. */
  readonly budget_tokens?: number | undefined;
  readonly [field: string]: Json | undefined;
}

/** A tool that Anthropic runs, in the format of the API: `{ type: "web_search_20250305", name: "web_search" }`. */
export interface AnthropicServerTool {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** The options of `anthropicMessages`. */
export interface AnthropicMessagesOptions {
  /** The client to use. */
  readonly client: AnthropicMessagesClient;
  /** For example "claude-opus-4-6". */
  readonly model: string;
  /** The service of the model, named as in `gen_ai.provider.name`. Default "anthropic". */
  readonly id?: string | undefined;
  /** API family, for policies that depend on it. Default none. */
  readonly family?: string | undefined;
  /**
   * Most tokens of one answer, including thinking, if the settings have no `maxOutputTokens`. The API requires a number. Default
   * 16,384, plus the thinking budget if there is one.
   */
  readonly maxTokens?: number | undefined;
  /** Default: the default of the model. */
  readonly thinking?: AnthropicThinking | undefined;
  /**
   * Marks the parts that later requests repeat, so that the server caches them: for 5 minutes with `true`, or for `ttl`. Default
   * false. Writing to the cache costs more than plain input, reading from it a tenth.
   */
  readonly cache?: boolean | { readonly ttl?: "5m" | "1h" | undefined } | undefined;
  /** Names for the header `anthropic-beta`; they replace those of the client. Default none. */
  readonly betas?: readonly string[] | undefined;
  /**
   * Offered after the run's own tools. Their calls belong to the server: they never run here, and are sent back unchanged.
   * Default none.
   */
  readonly serverTools?: readonly AnthropicServerTool[] | undefined;
  /**
   * The meanings of the service's finish words: `{ "FUNCTION_CALL": "tool-calls" }`. They take precedence over the known ones.
   * Default none.
   */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
}

/** The mark of a cached block. */
export interface CacheControl {
  readonly type: "ephemeral";
  readonly ttl?: "5m" | "1h";
  readonly [field: string]: Json | undefined;
}

/** The options with their defaults. */
export interface MessagesSettings {
  readonly client: AnthropicMessagesClient;
  readonly model: string;
  readonly id: string;
  readonly family: string | undefined;
  readonly maxTokens: number;
  readonly thinking: AnthropicThinking | undefined;
  readonly cacheControl: CacheControl | undefined;
  readonly betas: readonly string[];
  readonly serverTools: readonly AnthropicServerTool[];
}

const usualMaxTokens = 16_384;

const checks: Checks<AnthropicMessagesOptions> = {
  client: ["an Anthropic client", isMessagesClient],
  model: ["the name of a model", isFilled],
  id: ["a name", isFilled],
  family: ["a name", isFilled],
  maxTokens: ["a whole number from 1 on", isCount],
  thinking: ['an object with a "type", and with "budget_tokens" where that is "enabled"', isThinking],
  cache: ['true, false or { ttl: "5m" or "1h" }', isCache],
  betas: ["a list of names", (value) => isListOf(value, isFilled)],
  serverTools: ['a list of objects with a "type"', (value) => isListOf(value, isTyped)],
  finishReasons: finishReasonsCheck,
};

/** Fills in the defaults. Throws LoopError `invalid-option` or `unknown-option`. */
export function checkMessagesOptions(options: AnthropicMessagesOptions): MessagesSettings {
  checkFields("options", options, checks);
  checkRequired(options, checks, ["client", "model"]);
  const { client, model, id = "anthropic", family, thinking, betas = [], serverTools = [] } = options;
  const maxTokens = toMaxTokens(options);
  const cacheControl = toCacheControl(options.cache);
  return { client, model, id, family, maxTokens, thinking, cacheControl, betas, serverTools };
}

function toMaxTokens({ maxTokens, thinking }: AnthropicMessagesOptions): number {
  const budget = (thinking?.type === "enabled" ? thinking.budget_tokens : undefined) ?? 0;
  if (maxTokens === undefined) return usualMaxTokens + budget;
  if (maxTokens > budget) return maxTokens;
  throw invalidOption("maxTokens", "more than the budget for thinking", maxTokens);
}

function toCacheControl(cache: AnthropicMessagesOptions["cache"]): CacheControl | undefined {
  if (cache === undefined || cache === false) return undefined;
  const ttl = cache === true ? undefined : cache.ttl;
  return ttl === undefined ? { type: "ephemeral" } : { type: "ephemeral", ttl };
}

function isMessagesClient(value: unknown): boolean {
  return isRecord(value) && isRecord(value.messages) && typeof value.messages.create === "function";
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
}

function isTyped(value: unknown): boolean {
  return isRecord(value) && isFilled(value.type);
}

function isThinking(value: unknown): boolean {
  if (!isRecord(value) || !isFilled(value.type)) return false;
  return value.type !== "enabled" || isCount(value.budget_tokens);
}

function isCache(value: unknown): boolean {
  if (typeof value === "boolean") return true;
  if (!isRecord(value) || Object.keys(value).some((key) => key !== "ttl")) return false;
  return value.ttl === undefined || value.ttl === "5m" || value.ttl === "1h";
}

function isListOf(value: unknown, fits: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(fits);
}
