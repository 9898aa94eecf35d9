// The options of `openaiResponses`, and the request types of the API. The types are defined here, so that any version of the SDK
// can be used.

import {
  checkFields,
  checkRequired,
  type Checks,
  type FinishReason,
  finishReasonsCheck,
  is,
  isFilled,
  isRecord,
  type Json,
  oneOf,
} from "../core/provider-kit.ts";

/** An input item. Items of the model may have any type and fields; messages may have no type. */
export interface InputItem {
  readonly [field: string]: Json | undefined;
}

/** The body of a streaming request. It also has `input` and `store`, and `extra` of the settings may add any field. */
export interface ResponsesRequestBody {
  readonly model: string;
  readonly stream: true;
}

/** The used part of an OpenAI client: `new OpenAI()` or `new AzureOpenAI()` of `openai` 5 or later. */
export interface OpenAIResponsesClient {
  readonly responses: {
    create(body: ResponsesRequestBody, options: { readonly signal: AbortSignal }): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** How the model reasons, in the format of the API: `{ effort: "low", summary: "auto" }`. */
export interface OpenAIReasoning {
  /** For example "low". Default: the default of the model. */
  readonly effort?: string | undefined;
  /** For example "auto". Without it, the service sends no readable reasoning. */
  readonly summary?: string | undefined;
  readonly [field: string]: Json | undefined;
}

/** The input of a custom tool: any text, or one that matches a grammar. */
export type OpenAICustomToolFormat =
  | { readonly type: "text" }
  | { readonly type: "grammar"; readonly syntax: "lark" | "regex"; readonly definition: string };

/** A tool that OpenAI runs, in the format of the API: `{ type: "web_search" }`. */
export interface OpenAIServerTool {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** The options of `openaiResponses`. */
export interface OpenAIResponsesOptions {
  /** The client to use. Its `baseURL` may point to any server with the Responses API. */
  readonly client: OpenAIResponsesClient;
  /** For example "gpt-5". */
  readonly model: string;
  /** The service of the model, named as in `gen_ai.provider.name`. Default "openai". */
  readonly id?: string | undefined;
  /** API family, for policies that depend on it. Default none. */
  readonly family?: string | undefined;
  /** True if the service stores the responses. Each request contains the whole conversation in any case. Default false. */
  readonly store?: boolean | undefined;
  /**
   * Further data to request from the service. Default "reasoning.encrypted_content" if nothing is stored, else none. Pass an
   * empty list for models and servers that reject it.
   */
  readonly include?: readonly string[] | undefined;
  /** Default: the default of the model. */
  readonly reasoning?: OpenAIReasoning | undefined;
  /**
   * Tools of the run, by name, that the model calls with a plain text instead of JSON, and the format of the text. Such a tool
   * gets `{ input: "the text" }` as its arguments, so its schema must accept that. Default none.
   */
  readonly customTools?: { readonly [toolName: string]: OpenAICustomToolFormat } | undefined;
  /**
   * Offered after the run's own tools. Their calls belong to the service: they never run here, and are sent back unchanged.
   * Default none.
   */
  readonly serverTools?: readonly OpenAIServerTool[] | undefined;
  /**
   * The message for images and files of tool results. Default "tool-message", next to the text. Use "user-message" for servers
   * that accept only text there.
   */
  readonly toolResultMedia?: "tool-message" | "user-message" | undefined;
  /**
   * The meanings of the service's reasons for an incomplete response: `{ "steered": "stop" }`. They take precedence over the
   * known ones. Default none.
   */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
}

/** The options with their defaults. */
export interface ResponsesSettings {
  readonly client: OpenAIResponsesClient;
  readonly model: string;
  readonly id: string;
  readonly family: string | undefined;
  readonly store: boolean;
  readonly include: readonly string[];
  readonly reasoning: OpenAIReasoning | undefined;
  /** By the name of the tool. */
  readonly customTools: ReadonlyMap<string, OpenAICustomToolFormat>;
  readonly serverTools: readonly OpenAIServerTool[];
  readonly toolResultMedia: "tool-message" | "user-message";
}

const checks: Checks<OpenAIResponsesOptions> = {
  client: ["an OpenAI client", isResponsesClient],
  model: ["the name of a model", isFilled],
  id: is.name,
  family: is.name,
  store: is.flag,
  include: ["a list of names", (value) => Array.isArray(value) && value.every(isFilled)],
  reasoning: ['an object, such as { effort: "low" }', isRecord],
  customTools: ['an object with a format for each tool, such as { type: "text" }', isFormats],
  serverTools: ['a list of objects with a "type"', (value) => Array.isArray(value) && value.every(isTyped)],
  toolResultMedia: oneOf("tool-message", "user-message"),
  finishReasons: finishReasonsCheck,
};

/** Fills in the defaults. Throws LoopError `invalid-option` or `unknown-option`. */
export function checkResponsesOptions(options: OpenAIResponsesOptions): ResponsesSettings {
  checkFields("options", options, checks);
  checkRequired(options, checks, ["client", "model"]);
  const { client, model, id = "openai", family, store = false, reasoning } = options;
  const { customTools = {}, serverTools = [], toolResultMedia = "tool-message" } = options;
  const { include = store ? [] : ["reasoning.encrypted_content"] } = options;
  const byName = new Map(Object.entries(customTools));
  return { client, model, id, family, store, include, reasoning, customTools: byName, serverTools, toolResultMedia };
}

function isResponsesClient(value: unknown): boolean {
  return isRecord(value) && isRecord(value.responses) && typeof value.responses.create === "function";
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
