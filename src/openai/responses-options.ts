// The options of `openaiResponses` and the request side of its wire.
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
  type Json,
  oneOf,
} from "../core/provider-kit.ts";

/** An item of the input. Those that the model wrote may have any type and fields; messages may have no type. */
export interface InputItem {
  readonly [field: string]: Json | undefined;
}

/** The body of a streaming request: it has `input` and `store` too, and settings' `extra` may add any field to it. */
export interface ResponsesRequestBody {
  readonly model: string;
  readonly stream: true;
}

/** The used part of an OpenAI client: `new OpenAI()` and `new AzureOpenAI()` of `openai` 5 and later have it. */
export interface OpenAIResponsesClient {
  readonly responses: {
    create(body: ResponsesRequestBody, options: { readonly signal: AbortSignal }): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** How the model is to reason, in the wire's own words: `{ effort: "low", summary: "auto" }`. */
export interface OpenAIReasoning {
  /** Such as "low". Default: as the model does by itself. */
  readonly effort?: string | undefined;
  /** Such as "auto". Without it the service sends no reasoning that can be read. */
  readonly summary?: string | undefined;
  readonly [field: string]: Json | undefined;
}

/** The input of a custom tool that the model may write: any text, or one that a grammar allows. */
export type OpenAICustomToolFormat =
  | { readonly type: "text" }
  | { readonly type: "grammar"; readonly syntax: "lark" | "regex"; readonly definition: string };

/** A tool that OpenAI itself runs, in the wire's own words: `{ type: "web_search" }`. */
export interface OpenAIServerTool {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** How `openaiResponses` reaches its model. */
export interface OpenAIResponsesOptions {
  /** The caller's own client; its `baseURL` may be that of any server that speaks Responses. */
  readonly client: OpenAIResponsesClient;
  /** Such as "gpt-5". */
  readonly model: string;
  /** The service of the model, as `gen_ai.provider.name` has it. Default "openai". */
  readonly id?: string | undefined;
  /** API family that policies may ask for. Default none. */
  readonly family?: string | undefined;
  /** Whether the service keeps the responses. Either way each request has the whole conversation. Default false. */
  readonly store?: boolean | undefined;
  /**
   * Further data to request from the service. Default "reasoning.encrypted_content" if nothing is stored, else nothing; an empty list for
   * models and servers that refuse it.
   */
  readonly include?: readonly string[] | undefined;
  /** Default: as the model does by itself. */
  readonly reasoning?: OpenAIReasoning | undefined;
  /**
   * The tools of the run, by name, that the model calls with a plain text in place of JSON, and what the text may be. Such a tool gets
   * `{ input: "the text" }` as its arguments, so that its schema has to take that. Default none.
   */
  readonly customTools?: { readonly [toolName: string]: OpenAICustomToolFormat } | undefined;
  /** Offered after the run's own tools. Their calls are the service's: they are never run, and sent back as they came. Default none. */
  readonly serverTools?: readonly OpenAIServerTool[] | undefined;
  /** The place of images and files of tool results. Default "tool-message", beside the text; a "user-message" for servers that take only texts there. */
  readonly toolResultMedia?: "tool-message" | "user-message" | undefined;
  /** The meanings of the service's reasons for an incomplete response: `{ "steered": "stop" }`. They outrank the known ones. Default none. */
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
