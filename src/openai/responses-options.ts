// Declares the API's types instead of importing them, so that any SDK version works.

import {
  adapterChecks,
  type AdapterOptions,
  clientCheck,
  refuseBare,
  settle,
  type Settled,
} from "../shared/adapters/adapter-options.ts";
import { checkFields, type Checks, is, isRecord } from "../core/kit.ts";
import { isFilled } from "../shared/errors/check-fields.ts";
import type { Json } from "../core/index.ts";
import { findQuirks, serviceCheck } from "../services/find-quirks.ts";
import type { Quirks, ServiceName } from "../services/service.ts";
import { enforcesSchemas } from "./wire-values.ts";

/** One item of a request's input. An item that the model created may have any type and fields. A message may omit `type`. */
export interface InputItem {
  readonly [field: string]: Json | undefined;
}

/** A request body, which also contains `input` and `store`. The run's `modelSettings.extra` option can add any field. */
export interface ResponsesRequestBody {
  readonly model: string;
  readonly stream: true;
}

/** The methods that `openaiResponses` calls on an OpenAI client: `new OpenAI()` or `new AzureOpenAI()` from `openai` 5 or later. */
export interface OpenAIResponsesClient {
  readonly responses: {
    create(body: ResponsesRequestBody, options: { readonly signal: AbortSignal }): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** A reasoning setting in the API's format, for example `{ effort: "low", summary: "auto" }`. */
export interface OpenAIReasoning {
  /** The reasoning effort, for example "low". Default: the model's default. */
  readonly effort?: string | undefined;
  /** The kind of reasoning summary, for example "auto". Without `summary`, the service sends no readable reasoning. */
  readonly summary?: string | undefined;
  readonly [field: string]: Json | undefined;
}

/** The input format of a custom tool: any text, or text that matches a grammar. */
export type OpenAICustomToolFormat =
  | { readonly type: "text" }
  | { readonly type: "grammar"; readonly syntax: "lark" | "regex"; readonly definition: string };

/** A tool that OpenAI runs, in the API's format, for example `{ type: "web_search" }`. */
export interface OpenAIServerTool {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** The options for `openaiResponses`. */
export interface OpenAIResponsesOptions extends AdapterOptions {
  /** The client that sends the requests. Its `baseURL` may be the address of any server that implements the Responses API. */
  readonly client: OpenAIResponsesClient;
  /** The model's name, for example "gpt-5". */
  readonly model: string;
  /** The name of the service that runs the model, as in the OpenTelemetry attribute `gen_ai.provider.name`. Default "openai". */
  readonly id?: string | undefined;
  /** The service whose rules the requests follow. Default: detected in the same way as in `openaiChat`. */
  readonly service?: ServiceName | undefined;
  /** True to let the service store the responses. Each request still contains the whole conversation. Default false. */
  readonly store?: boolean | undefined;
  /**
   * Additional data to request from the service. Default `["reasoning.encrypted_content"]`, or an empty list with `store: true`. Pass
   * an empty list for models and servers that reject `include`.
   */
  readonly include?: readonly string[] | undefined;
  /**
   * Set to true to let the service replace old items with an encrypted summary, if the run has `compactMessages`.
   * Default false. Other servers may reject the field. OpenAI's guide: https://developers.openai.com/api/docs/guides/compaction
   */
  readonly compaction?: boolean | undefined;
  /** Controls how the model reasons. Default: the model's default. */
  readonly reasoning?: OpenAIReasoning | undefined;
  /**
   * The run's tools that the model calls with plain text instead of JSON. Each key is a tool's name, and each value is the format of the
   * text. Such a tool receives `{ input: "the text" }` as its arguments, so its schema must accept this object. Default none.
   */
  readonly customTools?: { readonly [toolName: string]: OpenAICustomToolFormat } | undefined;
  /**
   * Tools that the service runs. The model sees them after the run's tools. The run never executes calls to these tools, and
   * sends the calls and their results back unchanged. Default none.
   */
  readonly serverTools?: readonly OpenAIServerTool[] | undefined;
  /**
   * Set to true to let the service search the tools with the `deferred` trait. All tools are then sent, but the model sees the parameters
   * of a deferred tool only after a search has found it. Only for gpt-5.4 and later models. Default false.
   */
  readonly toolSearch?: boolean | undefined;
  /**
   * How images and files from tool results are sent. "tool-message": next to the text of the result. "user-message": in a user
   * message after the results, for servers that accept only text in tool results. Default "tool-message".
   */
  readonly toolResultMedia?: "tool-message" | "user-message" | undefined;
  /**
   * The `prompt_cache_key` of each request. The service chooses a server based on this key and the beginning of the request. Requests with
   * the same key and beginning reach the same server and share its prompt cache. Use one key for requests that share a long beginning. The
   * key can be the name of the agent, or the names of the agent and the customer. According to OpenAI, a server takes about 15 requests per
   * minute with the same key and beginning. Additional requests go to other servers, so a busy agent needs several keys. Default: no key.
   * The service then uses only the beginning.
   */
  readonly promptCacheKey?: string | undefined;
  /**
   * Set to true to send the schema of `structuredOutput` in the `text.format` field, so that the service enforces it. Set to false
   * for servers and models that reject the field. The schema is then described in the system text. Default: true for OpenAI's own
   * address, except for models older than GPT-4o, fine-tuned models and audio models; otherwise false.
   */
  readonly structuredOutput?: boolean | undefined;
}

type ResponsesDefaults = "id" | "store" | "include" | "serverTools" | "toolResultMedia";

export interface ResponsesSettings extends Omit<Settled<OpenAIResponsesOptions, ResponsesDefaults>, "customTools"> {
  readonly compacts: boolean;
  readonly customTools: ReadonlyMap<string, OpenAICustomToolFormat>;
  readonly searchesTools: boolean;
  readonly structuresOutput: boolean;
  readonly quirks: Quirks;
}

const sdkClient = /* @__PURE__ */ clientCheck("an OpenAI client", "responses", "create");

const checks: Checks<OpenAIResponsesOptions> = {
  client: sdkClient,
  ...adapterChecks,
  service: serviceCheck,
  store: is.flag,
  include: ["an array of names", (value) => Array.isArray(value) && value.every(isFilled)],
  compaction: is.flag,
  reasoning: ['an object, such as { effort: "low" }', isRecord],
  customTools: ['an object with a format for each tool, such as { type: "text" }', isFormats],
  serverTools: ['an array of objects with a "type"', (value) => Array.isArray(value) && value.every(isTyped)],
  toolSearch: is.flag,
  toolResultMedia: ["tool-message", "user-message"],
  promptCacheKey: is.name,
};

export function checkResponsesOptions(options: OpenAIResponsesOptions): ResponsesSettings {
  refuseBare(options, sdkClient, ["client", 'openaiResponses({ client, model: "gpt-5" })']);
  checkFields("options", options, checks);
  const { client, model, store = false, compaction, toolSearch, customTools = {}, structuredOutput } = options;
  return {
    ...settle<OpenAIResponsesOptions, ResponsesDefaults>(options, {
      id: "openai",
      store,
      include: store ? [] : ["reasoning.encrypted_content"],
      serverTools: [],
      toolResultMedia: "tool-message",
    }),
    customTools: new Map(Object.entries(customTools)),
    compacts: compaction === true,
    searchesTools: toolSearch === true,
    structuresOutput: structuredOutput ?? enforcesSchemas(client, model),
    quirks: findQuirks(options),
  };
}

function isTyped(value: unknown): boolean {
  return isRecord(value) && isFilled(value.type);
}

function isFormats(value: unknown): boolean {
  return isRecord(value) && Object.values(value).every(isFormat);
}

function isFormat(value: unknown): boolean {
  if (!isRecord(value)) return false;
  if (value.type === "text") return true;
  return value.type === "grammar" && (value.syntax === "lark" || value.syntax === "regex") && isFilled(value.definition);
}
