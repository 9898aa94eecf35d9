// The options of `anthropicMessages` and the request side of its wire.
// The wire's types are written down here, because any version of the SDK will do.

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

/** A block of a message, of a system text or of a tool's result. Blocks that the model wrote may have any type and fields. */
export interface WireBlock {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** A message of a request. Its content is always a list, so that a mark for the cache changes nothing else. */
export interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly WireBlock[];
}

/** The server's place for code and files. */
export interface WireContainer {
  readonly id: string;
  /** ISO 8601. */
  readonly expires_at?: string | undefined;
}

/** The body of a streaming request. Settings' `extra` may add any field to it. */
export interface MessagesRequestBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly { readonly role: string }[];
  readonly stream: true;
}

/** The options that go with a body. */
export interface MessagesRequestOptions {
  readonly signal: AbortSignal;
  readonly headers?: { readonly [name: string]: string };
}

/** The used part of an Anthropic client: `new Anthropic()` of `@anthropic-ai/sdk` has it, and so have those for Bedrock and Vertex. */
export interface AnthropicMessagesClient {
  readonly messages: {
    create(body: MessagesRequestBody, options: MessagesRequestOptions): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** How the model is to think, in the wire's own words: `{ type: "adaptive" }`, `{ type: "enabled", budget_tokens: 4_000 }`. */
export interface AnthropicThinking {
  readonly type: string;
  /** For type "enabled": tokens, fewer than those of the whole answer. */
  readonly budget_tokens?: number | undefined;
  readonly [field: string]: Json | undefined;
}

/** A tool that Anthropic itself runs, in the wire's own words: `{ type: "web_search_20250305", name: "web_search" }`. */
export interface AnthropicServerTool {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** How `anthropicMessages` reaches its model. */
export interface AnthropicMessagesOptions {
  /** The caller's own client. */
  readonly client: AnthropicMessagesClient;
  /** Such as "claude-opus-4-6". */
  readonly model: string;
  /** The service of the model, as `gen_ai.provider.name` has it. Default "anthropic". */
  readonly id?: string | undefined;
  /** API family that policies may ask for. Default none. */
  readonly family?: string | undefined;
  /**
   * Tokens of one answer, thinking included, where `maxOutputTokens` of the settings does not say; the wire demands a number.
   * Default 16,384, plus the budget for thinking where there is one.
   */
  readonly maxTokens?: number | undefined;
  /** Default: as the model does by itself. */
  readonly thinking?: AnthropicThinking | undefined;
  /**
   * Marks what later requests repeat, so that the server keeps it: for 5 minutes with `true`, or as `ttl` says. Default false.
   * Writing costs more than plain input, reading a tenth of it.
   */
  readonly cache?: boolean | { readonly ttl?: "5m" | "1h" | undefined } | undefined;
  /** Names for the header `anthropic-beta`, in place of those of the client. Default none. */
  readonly betas?: readonly string[] | undefined;
  /** Offered after the run's own tools. Their calls are the server's: they are never run, and sent back as they came. Default none. */
  readonly serverTools?: readonly AnthropicServerTool[] | undefined;
  /** The meanings of the service's words for why the model stopped: `{ "FUNCTION_CALL": "tool-calls" }`. They outrank the known ones. Default none. */
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
