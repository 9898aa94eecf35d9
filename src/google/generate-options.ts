// The options of `googleGenerateContent` and the request side of its wire.
// The wire's types are written down here, because many versions of the SDK will do.

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

/** A part of a content. Parts that the model wrote may have any fields. */
export interface WirePart {
  readonly [field: string]: Json | undefined;
}

/** One side's turn. */
export interface WireContent {
  readonly role: "user" | "model";
  readonly parts: readonly WirePart[];
}

/** The argument of the SDK. Settings' `extra` may add any field to `config`. */
export interface GenerateContentParams {
  readonly model: string;
  /** The conversation: contents with a `role` and `parts`. */
  readonly contents: unknown;
  readonly config?: object | undefined;
}

/** The used part of a Google client: `new GoogleGenAI()` of `@google/genai` 2 and later has it. */
export interface GoogleGenAIClient {
  /** Whether the client speaks to Vertex AI. */
  readonly vertexai?: boolean | undefined;
  readonly models: {
    generateContentStream(params: GenerateContentParams): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** How much the model thinks, in the SDK's own words; fields that are not named here are sent as well. */
export interface GoogleThinking {
  /** Whether its thoughts are told, in a summary. */
  readonly includeThoughts?: boolean | undefined;
  /** Tokens; 0 for none, -1 for as many as the model likes. For Gemini 2.5. */
  readonly thinkingBudget?: number | undefined;
  /** Such as "LOW" or "HIGH". For Gemini 3. */
  readonly thinkingLevel?: string | undefined;
  readonly [field: string]: Json | undefined;
}

/** A tool that the service runs, such as `{ googleSearch: {} }`. */
export interface GoogleServerTool {
  readonly [field: string]: Json | undefined;
}

/** How `googleGenerateContent` reaches its model. */
export interface GoogleGenerateContentOptions {
  /** The caller's own client, for the Gemini API or for Vertex AI. */
  readonly client: GoogleGenAIClient;
  /** Such as "gemini-3-pro-preview". */
  readonly model: string;
  /**
   * The service of the model, as `gen_ai.provider.name` has it. Default "gcp.vertex_ai" if the client speaks to Vertex AI, else
   * "gcp.gemini". Thought signatures go back only where it is the same, so that clients of different accounts want ids of their own.
   */
  readonly id?: string | undefined;
  /** API family that policies may ask for. Default none. */
  readonly family?: string | undefined;
  /**
   * Whose rules a request keeps to. Gemini 3 wants a signature on the first call of each turn, and takes images within the answer
   * of a tool; Gemini 2 knows neither. Default: 2 where the model's name says Gemini 1 or 2, or Gemma, else 3.
   */
  readonly generation?: 2 | 3 | undefined;
  /** Default: as the model does by itself. */
  readonly thinking?: GoogleThinking | undefined;
  /**
   * Whether the arguments of calls are streamed in pieces. Default false; only Vertex AI can.
   */
  readonly streamArguments?: boolean | undefined;
  /** Offered after the run's own tools. Their calls are the service's: they are never run, and sent back as they came. Default none. */
  readonly serverTools?: readonly GoogleServerTool[] | undefined;
  /** The meanings of the service's words for why the model stopped: `{ "FUNCTION_CALL": "tool-calls" }`. They outrank the known ones. Default none. */
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
  // The SDK refuses the field for the Gemini API, with each request.
  if (streamArguments && client.vertexai === false) {
    throw invalidOption("streamArguments", "false for a client of the Gemini API", streamArguments);
  }
  const { id = client.vertexai === true ? "gcp.vertex_ai" : "gcp.gemini", generation = generationOf(model) } = options;
  return { client, model, id, family, generation, thinking, streamArguments, serverTools };
}

/** Aliases such as "gemini-flash-latest", tuned models and endpoints do not say; the newer rules hold for those. */
function generationOf(model: string): 2 | 3 {
  return /(?:^|\/)(?:gemini-[12](?![\d])|gemma)/i.test(model) ? 2 : 3;
}

function isClient(value: unknown): boolean {
  return isRecord(value) && isRecord(value.models) && typeof value.models.generateContentStream === "function";
}

function isToolList(value: unknown): boolean {
  return Array.isArray(value) && value.every((tool) => isRecord(tool) && Object.keys(tool).length > 0);
}
