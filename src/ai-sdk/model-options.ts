// Declares the AI SDK's types instead of importing them, so that models that implement specification v2, v3 or v4 all work.

import { adapterChecks, type AdapterOptions, refuseBare } from "../shared/adapters/adapter-options.ts";
import { checkFields, type Check, type Checks, is, isRecord } from "../core/kit.ts";
import type { FinishReason, Json } from "../core/index.ts";
import { isFilled } from "../shared/errors/check-fields.ts";
import { findQuirks } from "../services/find-quirks.ts";
import type { Quirks } from "../services/service.ts";

/** The `doStream` options that all specification versions share. The `modelSettings.extra` run option may add any field. */
export interface AiSdkCallOptions {
  readonly prompt: readonly object[];
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * A language model object from a provider package, such as `openai("gpt-5")` from `@ai-sdk/openai`. Specification v2 belongs to AI
 * SDK 5, v3 to 6, and v4 to 7.
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  /** The URL patterns that the model accepts, by media type, or a promise of these patterns. */
  readonly supportedUrls: object | PromiseLike<object>;
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: object; readonly response?: object | undefined }>;
}

export interface PromptPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user" | "assistant" | "tool"; readonly content: readonly PromptPart[] };

/** A part of a finished message. It has the fields of a prompt part, but a file's data is base64 or a URL. */
export interface MessagePart {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

export type FileSource =
  | { readonly kind: "base64"; readonly data: string }
  | { readonly kind: "url"; readonly text: string; readonly url: URL };

export interface FileFacts {
  readonly mediaType: string;
  readonly source: FileSource;
  /** An object with the file's name, or an empty object if the file has no name. */
  readonly name: { readonly filename?: string };
}

/** The differences between the versions of the AI SDK's language model specification. */
export interface SpecWords {
  toFileData(source: FileSource): unknown;
  /** Converts a file for a tool result. Returns undefined if tool results in this version cannot contain the file. */
  toResultFile(file: FileFacts): PromptPart | undefined;
  toDenial(reason: string): PromptPart;
  readonly providerToolType: string;
  readonly unknownParts: ReadonlySet<string>;
}

const onlyInV4: ReadonlySet<string> = new Set(["custom", "reasoning-file"]);

const toPlainData = (source: FileSource): unknown => (source.kind === "url" ? source.url : source.data);

const v2: SpecWords = {
  toFileData: toPlainData,
  toResultFile: ({ mediaType, source }) => (source.kind === "url" ? undefined : { type: "media", data: source.data, mediaType }),
  toDenial: (reason) => ({ type: "error-text", value: reason }),
  providerToolType: "provider-defined",
  unknownParts: onlyInV4,
};

const v3: SpecWords = {
  toFileData: toPlainData,
  toResultFile: ({ mediaType, source, name }) => {
    const kind = mediaType.toLowerCase().startsWith("image/") ? "image" : "file";
    if (source.kind === "url") return { type: `${kind}-url`, url: source.text };
    return { type: `${kind}-data`, data: source.data, mediaType, ...(kind === "file" ? name : {}) };
  },
  toDenial: (reason) => ({ type: "execution-denied", reason }),
  providerToolType: "provider",
  unknownParts: onlyInV4,
};

/** Returns a file's data, tagged with its kind. Parsing changes some URLs, such as "gs://" URLs, so their original text is sent too. */
function toTaggedData(source: FileSource): object {
  if (source.kind === "base64") return { type: "data", data: source.data };
  const { url, text } = source;
  return url.href === text ? { type: "url", url } : { type: "url", url, originalUrl: text };
}

const v4: SpecWords = {
  toFileData: toTaggedData,
  toResultFile: ({ mediaType, source, name }) => ({ type: "file", data: toTaggedData(source), mediaType, ...name }),
  toDenial: v3.toDenial,
  providerToolType: "provider",
  unknownParts: new Set(),
};

export const specWords: { readonly [Version in AiSdkLanguageModel["specificationVersion"]]: SpecWords } = { v2, v3, v4 };

/**
 * A tool that the service defines, created by a provider package, for example `openai.tools.webSearch({})`. `id` and `args` are required.
 * They are optional here only because the packages' types do not guarantee them.
 */
export interface AiSdkProviderTool {
  readonly type?: string | undefined;
  /** The tool's id, for example "openai.web_search". */
  readonly id?: string;
  readonly args?: object;
}

/** A request from the service for permission to run one of its tools. */
export interface AiSdkApprovalRequest {
  readonly approvalId: string;
  readonly toolCallId: string;
  /** The name of the tool to run. Empty if the request does not identify a call. */
  readonly toolName: string;
  readonly input: Json;
}

/**
 * A warning from the provider package: a part of the request could not be sent unchanged. The values of `type` are
 * "unsupported-setting", "unsupported-tool" and "other" in v2; and "unsupported", "compatibility", "deprecated" and "other" in v3
 * and v4.
 */
export interface AiSdkWarning {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The options for `aiSdkModel`. */
export interface AiSdkModelOptions extends AdapterOptions {
  /** The language model, for example `openai("gpt-5")`, or the return value of `wrapLanguageModel`. */
  readonly model: AiSdkLanguageModel;
  /**
   * The service's name, for usage, prices and provider metadata. Default: the model's `provider`, such as "openai.responses".
   */
  readonly id?: string | undefined;
  /**
   * Options for the provider package, under the provider's name, for example `{ openai: { reasoningEffort: "low" } }`. Default
   * none.
   */
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } } | undefined;
  /** HTTP headers to send with each request. Default none. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * Tools that the service defines. The keys are the names that the model uses. If the service runs a tool itself, the run does
   * not execute calls to this tool, and sends these calls back unchanged. Otherwise the run executes the tool in `tools` that has
   * the same name. Default none.
   */
  readonly providerTools?: { readonly [name: string]: AiSdkProviderTool } | undefined;
  /**
   * Called when the service requests permission to run one of its tools, for example an MCP tool. Return true to permit the call.
   * The answer becomes part of the transcript. By default every request is denied. If the function throws, the request is denied.
   */
  readonly approveProviderTool?: ((request: AiSdkApprovalRequest) => boolean) | undefined;
  /**
   * Set to true to send the schema of `structuredOutput` as `responseFormat`. The model's package decides what it sends to the service, and
   * some packages drop the schema. Set this option only if the model enforces schemas. If the run has tools, the model must also enforce
   * schemas in requests with tools. Default false: the schema is described in the system text.
   */
  readonly structuredOutput?: boolean | undefined;
  /** Called with each warning. A warning may be repeated for every request. Errors from the function are ignored. Default none. */
  readonly onWarning?: ((warning: AiSdkWarning) => void) | undefined;
  /**
   * Maps additional finish reasons from the service or the AI SDK, for example `{ "FUNCTION_CALL": "tool-calls" }`. The service's finish
   * reason is looked up first, then the AI SDK's. These entries take precedence over the built-in ones. Default none.
   */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
}

export interface ModelSettings extends AiSdkModelOptions {
  readonly id: string;
  readonly quirks: Quirks;
}

const languageModel: Check = [
  'an AI SDK language model object (v2, v3 or v4), such as openai("gpt-5") (not a model id)',
  isLanguageModel,
  undefined,
  true,
];

const checks: Checks<AiSdkModelOptions> = {
  ...adapterChecks,
  model: languageModel,
  providerOptions: ["an object whose values are objects", isRecordOf(isRecord)],
  headers: ["an object whose values are strings", isRecordOf((value) => typeof value === "string")],
  providerTools: ['an object of tools with "id" and "args"', isRecordOf(isProviderTool)],
  approveProviderTool: is.fn,
  onWarning: is.fn,
};

export function checkModelOptions(options: AiSdkModelOptions): ModelSettings {
  refuseBare(options, languageModel, ["model", 'aiSdkModel({ model: openai("gpt-5") })']);
  checkFields("options", options, checks);
  const { provider, modelId } = options.model;
  const { forcedChoice, ...quirks } = findQuirks({ id: provider, model: modelId });
  // Asks for the tool call in the prompt instead of forcing it. These models accept a forced tool choice only when thinking is off, and
  // each package turns it off differently.
  const choice = forcedChoice === undefined ? {} : ({ forcedChoice: "never" } as const);
  return { ...options, id: options.id ?? provider, quirks: { ...quirks, ...choice } };
}

function isLanguageModel(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { specificationVersion: version, provider, modelId, doStream } = value;
  const isKnown = typeof version === "string" && Object.hasOwn(specWords, version);
  return isKnown && isFilled(provider) && isFilled(modelId) && typeof doStream === "function";
}

function isProviderTool(value: unknown): boolean {
  return isRecord(value) && isFilled(value.id) && isRecord(value.args);
}

function isRecordOf(fits: (value: unknown) => boolean): (value: unknown) => boolean {
  return (value) => isRecord(value) && Object.values(value).every(fits);
}
