// The options of `openaiResponses`, and the request types of the API. The types do not come from the SDK, so that any SDK version
// works.

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

/** One item of a request's `input`. Items that the model created may have any type and fields. Messages may omit `type`. */
export interface InputItem {
  readonly [field: string]: Json | undefined;
}

/** The body of a streaming request. It also contains `input` and `store`. `settings.extra` of the run's options may add any field. */
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

/** Controls how the model reasons, in the format of the API, for example `{ effort: "low", summary: "auto" }`. */
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

/** A tool that OpenAI runs, in the format of the API, for example `{ type: "web_search" }`. */
export interface OpenAIServerTool {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** The options of `openaiResponses`. */
export interface OpenAIResponsesOptions {
  /** The client to use. Its `baseURL` may point to any server with the Responses API. */
  readonly client: OpenAIResponsesClient;
  /** The name of the model, for example "gpt-5". */
  readonly model: string;
  /** The name of the service that runs the model, as in `gen_ai.provider.name`. Default "openai". */
  readonly id?: string | undefined;
  /** The API family, for policies that depend on the family. Default none. */
  readonly family?: string | undefined;
  /** Set to true to let the service store the responses. Each request still contains the whole conversation. Default false. */
  readonly store?: boolean | undefined;
  /**
   * Further data to request from the service. Default `["reasoning.encrypted_content"]`, or an empty list with `store: true`. Pass
   * an empty list for models and servers that reject `include`.
   */
  readonly include?: readonly string[] | undefined;
  /** Controls how the model reasons. Default: the model's default. */
  readonly reasoning?: OpenAIReasoning | undefined;
  /**
   * Tools of the run that the model calls with plain text instead of JSON: the format of the text, by the name of the tool. Such a
   * tool gets `{ input: "the text" }` as its arguments, so its schema must accept this object. Default none.
   */
  readonly customTools?: { readonly [toolName: string]: OpenAICustomToolFormat } | undefined;
  /**
   * Tools that the service runs, offered to the model after the tools of the run. The run never executes their calls, and sends
   * their calls and results back unchanged. Default none.
   */
  readonly serverTools?: readonly OpenAIServerTool[] | undefined;
  /**
   * The kind of message in which images and files from tool results are sent. Default "tool-message": next to the text of the
   * result. Use "user-message" for servers that accept only text in tool results.
   */
  readonly toolResultMedia?: "tool-message" | "user-message" | undefined;
  /**
   * The meanings of further reasons for an incomplete response, for example `{ "steered": "stop" }`. They take precedence over the
   * built-in meanings. Default none.
   */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
}

/** The options with defaults filled in. */
export interface ResponsesSettings {
  readonly client: OpenAIResponsesClient;
  readonly model: string;
  readonly id: string;
  readonly family: string | undefined;
  readonly store: boolean;
  readonly include: readonly string[];
  readonly reasoning: OpenAIReasoning | undefined;
  /** The input format of each custom tool, by the name of the tool. */
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
