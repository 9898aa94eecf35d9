// Defines the Anthropic adapter's options, with defaults from the headers that its client already sends. Declares the API's types instead
// of importing them, so that any SDK version works.

import {
  adapterChecks,
  type AdapterOptions,
  clientCheck,
  refuseBare,
  settle,
  type Settled,
} from "../shared/adapters/adapter-options.ts";
import { checkFields, type Checks, createOutputPlanner, invalidOption, is, isRecord, listOf, recordOf } from "../core/kit.ts";
import { isClientOf, type OutputPlan } from "../shared/adapters/output-schema.ts";
import { isFilled } from "../shared/errors/check-fields.ts";
import type { Json, JsonSchema, ModelRequest } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { findMessagesQuirks, serviceCheck } from "../services/find-quirks.ts";
import type { Quirks, ServiceName } from "../services/service.ts";
import { unsampledVersion } from "../services/anthropic.ts";
import { type ClaudeFacts, findClaudeFacts } from "../services/claude-models.ts";

/** Returns one of the client's default headers. The SDK accepts headers in several forms. */
function headerOf(client: object, name: string): string | undefined {
  const { _options: options } = client as UnknownRecord;
  for (const [key, value] of listHeaders(recordOf(options).defaultHeaders)) {
    if (String(key).toLowerCase() !== name) continue;
    if (typeof value === "string") return value;
    if (Array.isArray(value)) return value.join(",");
  }
  return undefined;
}

function listHeaders(given: unknown): Iterable<readonly unknown[]> {
  if (given instanceof Headers) return given;
  if (Array.isArray(given)) return given.map(listOf);
  const { values } = recordOf(given);
  return values instanceof Headers ? values : Object.entries(recordOf(given));
}

/**
 * Returns the API version that the client's SDK sends. @anthropic-ai/sdk has sent 2026-10-21 since version 1.0.0. The clients for
 * Bedrock and Vertex AI are built on it, and do the same.
 */
function sdkVersionOf(client: object): string | undefined {
  const { getUserAgent: read } = client as UnknownRecord;
  const agent: unknown = typeof read === "function" ? Reflect.apply(read, client, []) : undefined;
  const major = typeof agent === "string" ? /\/JS (\d+)\./.exec(agent)?.[1] : undefined;
  if (major === undefined) return undefined;
  return Number(major) >= 1 ? "2026-10-21" : "2023-06-01";
}

export interface WireBlock {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** A message in the API's format. `content` is always a list, because only a block can have a cache mark. */
export interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly WireBlock[];
}

/** A container on the server, in which code runs and files are stored. */
export interface WireContainer {
  readonly id: string;
  /** The expiry date, in ISO 8601 format. */
  readonly expires_at?: string | undefined;
}

/** A streaming request's body. The `modelSettings.extra` run option may add any field. */
export interface MessagesRequestBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly { readonly role: string }[];
  readonly stream: true;
}

export interface MessagesRequestOptions {
  readonly signal: AbortSignal;
  readonly headers?: { readonly [name: string]: string };
}

/**
 * The methods that `anthropicMessages` calls on a client: `new Anthropic()` from `@anthropic-ai/sdk`, or the Bedrock or Vertex
 * client.
 */
export interface AnthropicMessagesClient {
  readonly messages: {
    create(body: MessagesRequestBody, options: MessagesRequestOptions): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** A thinking setting in the API's format: `{ type: "adaptive" }` or `{ type: "enabled", budget_tokens: 4_000 }`. */
export interface AnthropicThinking {
  readonly type: string;
  /** The thinking budget for type "enabled", in tokens. Must be less than the token limit of the whole answer. */
  readonly budget_tokens?: number | undefined;
  readonly [field: string]: Json | undefined;
}

/** A tool that Anthropic runs, in the API's format, for example `{ type: "web_search_20250305", name: "web_search" }`. */
export interface AnthropicServerTool {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** The options for `anthropicMessages`. */
export interface AnthropicMessagesOptions extends AdapterOptions {
  /** The client that sends the requests. */
  readonly client: AnthropicMessagesClient;
  /** The model's name, for example "claude-opus-4-6". */
  readonly model: string;
  /**
   * The name of the service that runs the model, as in the OpenTelemetry attribute `gen_ai.provider.name`. Default "anthropic".
   */
  readonly id?: string | undefined;
  /**
   * The service whose rules the requests follow, for example "bedrock" for a gateway to Amazon Bedrock. Default: detected from the host of
   * the client's `baseURL`, then `id`, then the port, otherwise Anthropic.
   */
  readonly service?: ServiceName | undefined;
  /**
   * The maximum number of tokens in one answer, including thinking. The API requires a limit, so `maxTokens` applies if the run's settings
   * have no `maxOutputTokens`. Default 16,384, plus the thinking budget if there is one. The budget is always added to `maxOutputTokens`,
   * up to the model's limit.
   */
  readonly maxTokens?: number | undefined;
  /**
   * Controls how the model thinks. If the model refuses the type, the adapter replaces or omits it, and reports this in a
   * `request-adjusted` event. Default: the model's default. If a model writes its notes between tool calls as thinking, the default also
   * sets `display: "summarized"`, because the notes would otherwise be empty.
   */
  readonly thinking?: AnthropicThinking | undefined;
  /**
   * Set to true to make the server cache the parts of a request that later requests repeat. The cache lasts 5 minutes unless you
   * set `ttl`. Default false. Writing to the cache costs more than plain input; reading from it costs a tenth of plain input.
   */
  readonly cache?: boolean | { readonly ttl?: "5m" | "1h" | undefined } | undefined;
  /**
   * Set to true to let the service replace old messages with a summary, if the run has `compactMessages`. Default false. `instructions`
   * replace the service's own instructions for the summary. The option adds `compact-2026-01-12` to `betas`. Keep this option set as long
   * as a conversation contains a summary that the service made. The service creates a summary only at 50,000 input tokens or more, and only
   * with some models: https://platform.claude.com/docs/en/build-with-claude/compaction-threshold
   */
  readonly compaction?: boolean | { readonly instructions?: string | undefined } | undefined;
  /** The names of beta features for the `anthropic-beta` header, in addition to those in the client's default headers. Default none. */
  readonly betas?: readonly string[] | undefined;
  /**
   * The API version, for the `anthropic-version` header. Starting with "2026-10-21", the service refuses `temperature` and `topP`, so
   * they are not sent. Default: the version in the client's default headers, otherwise the version that the client's SDK sends.
   */
  readonly apiVersion?: string | undefined;
  /**
   * True to let the service drop thinking that no longer fits a changed request, instead of refusing the request (beta
   * `thinking-binding-controls-2026-08-01`). The dropped blocks are reported in a `request-adjusted` event. If false, or if the
   * service refuses the beta, the adapter itself removes such thinking. Default: true for models that check their thinking, except
   * on Bedrock, Vertex AI and Microsoft Foundry. See docs/models-of-autumn-2026.md.
   */
  readonly dropsUnfitThinking?: boolean | undefined;
  /**
   * Tools that the server runs. The model sees them after the run's tools. The run never executes calls to these tools, and
   * sends the calls and their results back unchanged. Default none.
   */
  readonly serverTools?: readonly AnthropicServerTool[] | undefined;
  /**
   * Set to "bm25" or "regex" to let the service search the tools that have the `deferred` trait, in natural language or with regular
   * expressions. All tools are then sent, but the model sees a deferred tool only after a search has found it. Default: the service
   * does not search. Not all models support this search:
   * https://platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool
   */
  readonly toolSearch?: "bm25" | "regex" | undefined;
  /**
   * Set to true to send the schema of `structuredOutput` in the `output_config.format` field, so that the service enforces it. Set
   * to false for services and models that reject the field; the schema is then described in the system text. Default: true for
   * Anthropic's own address, except for models before Claude Opus 4.1; otherwise false.
   */
  readonly structuredOutput?: boolean | undefined;
}

export interface CacheControl {
  readonly type: "ephemeral";
  readonly ttl?: "5m" | "1h";
  readonly [field: string]: Json | undefined;
}

export interface CompactionEdit {
  readonly instructions?: string;
}

type MessagesDefaults = "id" | "serverTools";

export interface MessagesSettings extends Omit<Settled<AnthropicMessagesOptions, MessagesDefaults>, "compaction"> {
  readonly maxTokens: number;
  readonly cacheControl: CacheControl | undefined;
  readonly compaction: CompactionEdit | undefined;
  readonly betas: readonly string[];
  /** The betas in the client's default headers, which a request header would replace. */
  readonly clientBetas: readonly string[];
  /** The model's rules. Undefined for models other than Claude. */
  readonly facts: ClaudeFacts | undefined;
  readonly quirks: Quirks;
  /** True if the service refuses `temperature` and `top_p`. */
  readonly refusesSampling: boolean;
  readonly dropsUnfit: boolean;
  readonly structuresOutput: boolean;
}

const usualMaxTokens = 16_384;

/** The service requires this beta for the `context_management` field, and for requests with `compaction` blocks. */
const compactionBeta = "compact-2026-01-12";

const sdkClient = /* @__PURE__ */ clientCheck("an Anthropic client", "messages", "create");

const checks: Checks<AnthropicMessagesOptions> = {
  client: sdkClient,
  ...adapterChecks,
  service: serviceCheck,
  maxTokens: ["a whole number of at least 1", isCount],
  thinking: ['an object with a "type"; type "enabled" also needs "budget_tokens"', isThinking],
  cache: ['true, false, { ttl: "5m" } or { ttl: "1h" }', isCache],
  compaction: ['true, false or { instructions: "..." }', isCompaction],
  betas: ["an array of names", (value) => Array.isArray(value) && value.every(isFilled)],
  apiVersion: ['a date such as "2026-10-21"', (value) => typeof value === "string" && /^\d{4}-\d\d-\d\d$/.test(value)],
  dropsUnfitThinking: is.flag,
  serverTools: ['an array of objects with a "type"', (value) => Array.isArray(value) && value.every(isTyped)],
  toolSearch: ["bm25", "regex"],
};

export function checkMessagesOptions(options: AnthropicMessagesOptions): MessagesSettings {
  refuseBare(options, sdkClient, ["client", 'anthropicMessages({ client, model: "claude-opus-5" })']);
  checkFields("options", options, checks);
  const { client, model, cache, structuredOutput, dropsUnfitThinking } = options;
  const compaction = toCompactionEdit(options.compaction);
  const facts = findClaudeFacts(model);
  const quirks = findMessagesQuirks(options);
  return {
    ...settle<AnthropicMessagesOptions, MessagesDefaults>(options, { id: "anthropic", serverTools: [] }),
    maxTokens: toMaxTokens(options),
    cacheControl: toCacheControl(cache),
    compaction,
    betas: toBetas(options.betas ?? [], compaction),
    clientBetas: (headerOf(client, "anthropic-beta") ?? "").split(/\s*,\s*/).filter(isFilled),
    facts,
    quirks,
    refusesSampling: facts?.sampling === "no" || refusesSampling(options, facts),
    dropsUnfit: dropsUnfitThinking ?? (facts?.checksPrefix === true && quirks.refusesBinding !== true),
    structuresOutput: structuredOutput ?? enforcesSchemas(client, model),
  };
}

/**
 * True if the model refuses sampling settings. Depends on the API version only for Claude, because services for other models ignore the
 * version.
 */
function refusesSampling(
  { client, apiVersion }: Pick<AnthropicMessagesOptions, "client" | "apiVersion">,
  facts: ClaudeFacts | undefined,
): boolean {
  const version = apiVersion ?? headerOf(client, "anthropic-version") ?? sdkVersionOf(client) ?? "";
  return version >= unsampledVersion && (facts !== undefined || isClientOf(client, "anthropic.com"));
}

function toMaxTokens({ maxTokens, thinking }: AnthropicMessagesOptions): number {
  const budget = (thinking?.type === "enabled" ? thinking.budget_tokens : undefined) ?? 0;
  if (maxTokens === undefined) return usualMaxTokens + budget;
  if (maxTokens > budget) return maxTokens;
  throw invalidOption("maxTokens", "greater than the thinking budget", maxTokens);
}

function toCacheControl(cache: AnthropicMessagesOptions["cache"]): CacheControl | undefined {
  if (cache === undefined || cache === false) return undefined;
  const ttl = cache === true ? undefined : cache.ttl;
  return ttl === undefined ? { type: "ephemeral" } : { type: "ephemeral", ttl };
}

function toCompactionEdit(compaction: AnthropicMessagesOptions["compaction"]): CompactionEdit | undefined {
  if (compaction === undefined || compaction === false) return undefined;
  const instructions = compaction === true ? undefined : compaction.instructions;
  return instructions === undefined ? {} : { instructions };
}

function toBetas(betas: readonly string[], compaction: CompactionEdit | undefined): readonly string[] {
  return compaction === undefined || betas.includes(compactionBeta) ? betas : [...betas, compactionBeta];
}

function isTyped(value: unknown): boolean {
  return isRecord(value) && isFilled(value.type);
}

function isCount(value: unknown): boolean {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 1;
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

function isCompaction(value: unknown): boolean {
  if (typeof value === "boolean") return true;
  if (!isRecord(value) || Object.keys(value).some((key) => key !== "instructions")) return false;
  return value.instructions === undefined || isFilled(value.instructions);
}

/**
 * Plans how the answer's schema is sent. The service allows 24 optional properties and 16 unions
 * (https://platform.claude.com/docs/en/build-with-claude/structured-outputs). Schemas with 11 optional properties have failed too
 * (`supports-native-structured-output-schema.ts` in @ai-sdk/anthropic 4.0.105).
 */
const plan: (request: ModelRequest, isPossible: boolean) => OutputPlan = /* @__PURE__ */ createOutputPlanner({
  maxOptional: 10,
  maxUnions: 16,
  maxDepth: 10,
});

/**
 * Plans how the answer's schema is sent. The service rejects a format combined with citations, which its search tools add. It also rejects
 * a format if the final message is from the model, because the model then continues that message.
 */
export function planOutput(request: ModelRequest, serverTools: readonly object[]): OutputPlan {
  const isContinued = request.messages.at(-1)?.role === "assistant";
  const isTaken = configOf(request)["format"] !== undefined;
  return plan(request, !isContinued && !isTaken && serverTools.length === 0);
}

/** Adds the schema to the `output_config` field and keeps its other fields, such as `effort`. */
export function toConfigField(schema: JsonSchema | undefined, request: ModelRequest): { readonly output_config?: Json } {
  return schema === undefined ? {} : { output_config: { ...configOf(request), format: { type: "json_schema", schema } } };
}

export function configOf({ settings }: ModelRequest): { readonly [field: string]: Json } {
  return recordOf(settings?.extra?.["output_config"]) as { readonly [field: string]: Json };
}

const withoutSchemas = /claude-(?:instant|v?[123]\b|(?:sonnet|opus)-4(?:$|-0|-2025))/i;

/** True if the service enforces schemas. False for Bedrock, Vertex AI and compatible servers, which support schemas only for some models. */
function enforcesSchemas(client: object, model: string): boolean {
  return isClientOf(client, "anthropic.com") && !withoutSchemas.test(model);
}
