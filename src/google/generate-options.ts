// Declares the API's types instead of importing them, so that many SDK versions work.

import {
  adapterChecks,
  type AdapterOptions,
  clientCheck,
  refuseBare,
  settle,
  type Settled,
} from "../shared/adapters/adapter-options.ts";
import { checkFields, type Checks, createOutputPlanner, invalidOption, is, isRecord, listOf, recordOf } from "../core/kit.ts";
import { isForced } from "../shared/forced-choice.ts";
import type { Json, ModelRequest } from "../core/index.ts";
import type { OutputPlan } from "../shared/adapters/output-schema.ts";
import { findQuirks } from "../services/find-quirks.ts";
import type { Quirks } from "../services/service.ts";

export interface WirePart {
  readonly [field: string]: Json | undefined;
}

export interface WireContent {
  readonly role: "user" | "model";
  readonly parts: readonly WirePart[];
}

/** The argument of the SDK's `generateContentStream`. The run option `modelSettings.extra` may add any field to `config`. */
export interface GenerateContentParams {
  readonly model: string;
  /** The conversation: a list of `Content` objects with `role` and `parts`. */
  readonly contents: unknown;
  readonly config?: object | undefined;
}

/** The parts of a Google client that `googleGenerateContent` uses. Pass `new GoogleGenAI()` from `@google/genai` 2 or later. */
export interface GoogleGenAIClient {
  /** True if the client uses Vertex AI. */
  readonly vertexai?: boolean | undefined;
  readonly models: {
    generateContentStream(params: GenerateContentParams): PromiseLike<AsyncIterable<unknown>>;
  };
}

/** The thinking settings in the format of the SDK. Fields that this type does not declare are also sent. */
export interface GoogleThinking {
  /** Set to true to receive a summary of the thoughts. */
  readonly includeThoughts?: boolean | undefined;
  /** The thinking budget of Gemini 2.5, in tokens. 0 disables thinking, and -1 lets the model decide. */
  readonly thinkingBudget?: number | undefined;
  /** The thinking level of Gemini 3, for example "LOW" or "HIGH". */
  readonly thinkingLevel?: string | undefined;
  readonly [field: string]: Json | undefined;
}

/** A tool that the service runs, for example `{ googleSearch: {} }`. */
export interface GoogleServerTool {
  readonly [field: string]: Json | undefined;
}

/** The options of `googleGenerateContent`. */
export interface GoogleGenerateContentOptions extends AdapterOptions {
  /** The client that sends the requests to the Gemini API or to Vertex AI. */
  readonly client: GoogleGenAIClient;
  /** The model's name, for example "gemini-3.5-flash-preview". */
  readonly model: string;
  /**
   * The name of the service that runs the model, as in the OpenTelemetry attribute `gen_ai.provider.name`. Default
   * "gcp.vertex_ai" if the client uses Vertex AI, otherwise "gcp.gemini". Thought signatures are sent back only to a provider
   * with the same id, so use different ids for clients with different accounts.
   */
  readonly id?: string | undefined;
  /**
   * The model generation, which determines the format of requests. Gemini 3 requires a signature on the first call of each message,
   * and accepts images inside function responses. Gemini 2 requires no signatures and accepts no images in function responses.
   * Default: 2 if the model's name contains Gemini 1, Gemini 2 or Gemma, otherwise 3.
   */
  readonly generation?: 2 | 3 | undefined;
  /** Controls how much the model thinks. Default: the model's default. */
  readonly thinking?: GoogleThinking | undefined;
  /** Set to true to stream the arguments of calls in pieces, which only Vertex AI supports. Default false. */
  readonly streamArguments?: boolean | undefined;
  /**
   * Tools that the service runs. The model sees them after the run's tools. The run never executes calls to these tools, and
   * sends the calls and their results back unchanged. Default: none.
   */
  readonly serverTools?: readonly GoogleServerTool[] | undefined;
  /**
   * Set to true to send the schema of `structuredOutput` in the `responseJsonSchema` field, so that the service enforces it. Set to
   * false for models that reject the field. The schema is then described in the system text. Default: true for Gemini 2.5 and
   * later, except for image, speech and live models; otherwise false.
   */
  readonly structuredOutput?: boolean | undefined;
}

type GenerateDefaults = "id" | "generation" | "streamArguments" | "serverTools";

export interface GenerateSettings extends Settled<GoogleGenerateContentOptions, GenerateDefaults> {
  readonly structuresOutput: boolean;
  readonly quirks: Quirks;
}

const sdkClient = /* @__PURE__ */ clientCheck("a Google client", "models", "generateContentStream");

const checks: Checks<GoogleGenerateContentOptions> = {
  client: sdkClient,
  ...adapterChecks,
  generation: [2, 3],
  thinking: is.object,
  streamArguments: is.flag,
  serverTools: ["an array of non-empty objects, such as { googleSearch: {} }", isToolList],
};

export function checkGenerateOptions(options: GoogleGenerateContentOptions): GenerateSettings {
  refuseBare(options, sdkClient, ["client", 'googleGenerateContent({ client, model: "gemini-3.5-flash" })']);
  checkFields("options", options, checks);
  const { client, model, streamArguments = false, structuredOutput } = options;
  // The Gemini API cannot stream arguments, so the SDK would reject every request.
  if (streamArguments && client.vertexai === false) {
    throw invalidOption("streamArguments", "false for a Gemini API client", streamArguments);
  }
  return {
    ...settle<GoogleGenerateContentOptions, GenerateDefaults>(options, {
      id: client.vertexai === true ? "gcp.vertex_ai" : "gcp.gemini",
      generation: generationOf(model),
      streamArguments,
      serverTools: [],
    }),
    structuresOutput: structuredOutput ?? enforcesSchemas(model),
    quirks: findQuirks({ service: "google", model }),
  };
}

/** Returns a model's generation. Names without a version, such as "gemini-flash-latest", count as generation 3. */
function generationOf(model: string): 2 | 3 {
  return /(?:^|\/)(?:gemini-[12](?![\d])|gemma)/i.test(model) ? 2 : 3;
}

function isToolList(value: unknown): boolean {
  return Array.isArray(value) && value.every((tool) => isRecord(tool) && Object.keys(tool).length > 0);
}

interface Combined {
  readonly structuresOutput: boolean;
  readonly generation: 2 | 3;
  readonly serverTools: readonly object[];
}

/** Plans how the answer's schema is sent. Schemas with more than four levels have failed (github.com/Portkey-AI/gateway/pull/1616). */
const plan: (request: ModelRequest, isPossible: boolean) => OutputPlan = /* @__PURE__ */ createOutputPlanner({
  maxOptional: 100,
  maxUnions: 16,
  maxDepth: 4,
});

/** Fields that set the response format. If `extra` contains one of them, the schema is not sent. */
const formatFields = ["responseMimeType", "responseJsonSchema", "responseSchema", "responseFormat"];

/**
 * Plans how the answer's schema is sent. Models before Gemini 3 reject it together with tools, and Gemini 3 rejects it together with a
 * required call (`google-language-model.ts` in @ai-sdk/google 4.0.121).
 */
export function planOutput(request: ModelRequest, { structuresOutput, generation, serverTools }: Combined): OutputPlan {
  const { tools, toolChoice, settings: { extra = {} } = {} } = request;
  const canCombine = tools.length + serverTools.length === 0 || (generation === 3 && !isForced(toolChoice));
  return plan(request, structuresOutput && canCombine && formatFields.every((field) => extra[field] === undefined));
}

/** Matches models that do not support schemas: Gemma, models before Gemini 2.5, and models whose output is not text. */
const withoutSchemas = /gemma|gemini-(?:1|2\.0|2-|pro|ultra)|image|tts|live|audio|embedding/i;

function enforcesSchemas(model: string): boolean {
  return !withoutSchemas.test(model);
}

/**
 * Removes a calling mode that the caller set in `extra`, because the service refuses it without functions: "Function calling config is
 * set without function_declarations."
 */
export function withoutUnusedMode<Config extends object>(config: Config): Config {
  const { tools, toolConfig } = recordOf(config);
  if (listOf(tools).some((tool) => isRecord(tool) && listOf(tool.functionDeclarations).length > 0)) return config;
  if (!isRecord(toolConfig)) return config;
  const { functionCallingConfig: _mode, ...rest } = toolConfig;
  return { ...config, toolConfig: rest };
}
