// The options of `googleGenerateContent`, and the request types of the API. The types are defined here, so that many versions of
// the SDK can be used.

import {
  checkFields,
  checkRequired,
  type Checks,
  type FinishReason,
  finishReasonsCheck,
  invalidOption,
  is,
  isFilled,
  isRecord,
  type Json,
  oneOf,
} from "../core/provider-kit.ts";

/** A part of a content. Parts of the model may have any fields. */
export interface WirePart {
  readonly [field: string]: Json | undefined;
}

/** A message of one side. */
export interface WireContent {
  readonly role: "user" | "model";
  readonly parts: readonly WirePart[];
}

/** The argument of the SDK. `extra` of the settings may add any field to `config`. */
export interface GenerateContentParams {
  readonly model: string;
  /** The conversation: contents with a `role` and `parts`. */
  readonly contents: unknown;
  readonly config?: object | undefined;
}

/** The used part of a Google client: `new GoogleGenAI()` of `@google/genai` 2 or later. */
export interface GoogleGenAIClient {
  /** True if the client uses Vertex AI. */
  readonly vertexai?: boolean | undefined;
  readonly models: {
    generateContentStream(params: GenerateContentParams): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** How much the model thinks, in the format of the SDK. Other fields are also sent. */
export interface GoogleThinking {
  /** True if a summary of the thoughts is sent. */
  readonly includeThoughts?: boolean | undefined;
  /** Tokens; 0 for none, -1 lets the model decide. For Gemini 2.5. */
  readonly thinkingBudget?: number | undefined;
  /** For example "LOW" or "HIGH". For Gemini 3. */
  readonly thinkingLevel?: string | undefined;
  readonly [field: string]: Json | undefined;
}

/** A tool that the service runs, for example `{ googleSearch: {} }`. */
export interface GoogleServerTool {
  readonly [field: string]: Json | undefined;
}

/** The options of `googleGenerateContent`. */
export interface GoogleGenerateContentOptions {
  /** The client to use, for the Gemini API or for Vertex AI. */
  readonly client: GoogleGenAIClient;
  /** For example "gemini-3-pro-preview". */
  readonly model: string;
  /**
   * The service of the model, named as in `gen_ai.provider.name`. Default "gcp.vertex_ai" if the client uses Vertex AI, else
   * "gcp.gemini". Thought signatures are only sent back to the same id, so use different ids for clients of different accounts.
   */
  readonly id?: string | undefined;
  /** API family, for policies that depend on it. Default none. */
  readonly family?: string | undefined;
  /**
   * The rules of the request. Gemini 3 requires a signature on the first call of each message, and accepts images inside function
   * responses; Gemini 2 supports neither. Default: 2 if the model's name contains Gemini 1 or 2, or Gemma, else 3.
   */
  readonly generation?: 2 | 3 | undefined;
  /** Default: the default of the model. */
  readonly thinking?: GoogleThinking | undefined;
  /** True if the arguments of calls are streamed in parts. Default false; only Vertex AI supports it. */
  readonly streamArguments?: boolean | undefined;
  /**
   * Offered after the run's own tools. Their calls belong to the service: they never run here, and are sent back unchanged.
   * Default none.
   */
  readonly serverTools?: readonly GoogleServerTool[] | undefined;
  /**
   * The meanings of the service's finish reasons: `{ "FUNCTION_CALL": "tool-calls" }`. They take precedence over the known ones.
   * Default none.
   */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
}

/** The options with their defaults. */
export interface GenerateSettings {
  readonly client: GoogleGenAIClient;
  readonly model: string;
  readonly id: string;
  readonly family: string | undefined;
  readonly generation: 2 | 3;
  readonly thinking: GoogleThinking | undefined;
  readonly streamArguments: boolean;
  readonly serverTools: readonly GoogleServerTool[];
}

const checks: Checks<GoogleGenerateContentOptions> = {
  client: ["a Google client", isClient],
  model: ["the name of a model", isFilled],
  id: is.name,
  family: is.name,
  generation: oneOf(2, 3),
  thinking: is.object,
  streamArguments: is.flag,
  serverTools: ["a list of objects with a field each", isToolList],
  finishReasons: finishReasonsCheck,
};

/** Fills in the defaults. Throws LoopError `invalid-option` or `unknown-option`. */
export function checkGenerateOptions(options: GoogleGenerateContentOptions): GenerateSettings {
  checkFields("options", options, checks);
  checkRequired(options, checks, ["client", "model"]);
  const { client, model, family, thinking, streamArguments = false, serverTools = [] } = options;
  // The SDK would reject the field for the Gemini API with each request.
  if (streamArguments && client.vertexai === false) {
    throw invalidOption("streamArguments", "false for a client of the Gemini API", streamArguments);
  }
  const { id = client.vertexai === true ? "gcp.vertex_ai" : "gcp.gemini", generation = generationOf(model) } = options;
  return { client, model, id, family, generation, thinking, streamArguments, serverTools };
}

/** Aliases such as "gemini-flash-latest", tuned models and endpoints do not show it, and get the newer rules. */
function generationOf(model: string): 2 | 3 {
  return /(?:^|\/)(?:gemini-[12](?![\d])|gemma)/i.test(model) ? 2 : 3;
}

function isClient(value: unknown): boolean {
  return isRecord(value) && isRecord(value.models) && typeof value.models.generateContentStream === "function";
}

function isToolList(value: unknown): boolean {
  return Array.isArray(value) && value.every((tool) => isRecord(tool) && Object.keys(tool).length > 0);
}
