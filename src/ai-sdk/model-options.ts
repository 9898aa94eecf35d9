// The options of `aiSdkModel`, and the differences of the three specifications. The types are defined here, so that any of the
// three can be used.

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
} from "../core/provider-kit.ts";

/** The fields of the `doStream` options that all specifications share. `extra` of the settings may add any field. */
export interface AiSdkCallOptions {
  readonly prompt: readonly object[];
  readonly abortSignal?: AbortSignal | undefined;
}

/**
 * A language model object of a provider package, such as `openai("gpt-5")` of `@ai-sdk/openai`: one of specification v2 (AI SDK 5),
 * v3 (6) or v4 (7).
 */
export interface AiSdkLanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  readonly provider: string;
  readonly modelId: string;
  /** URL patterns by media type, or a promise of them. */
  readonly supportedUrls: object | PromiseLike<object>;
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: object; readonly response?: object | undefined }>;
}

/** A part of a prompt message. */
export interface PromptPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A message of a prompt. */
export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user" | "assistant" | "tool"; readonly content: readonly PromptPart[] };

/** A recorded part of an assistant message: the fields of a prompt part, with the data of a file as base64 or a URL. */
export interface MessagePart {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** The data of a file. */
export type FileSource =
  | { readonly kind: "base64"; readonly data: string }
  /** As it was written, and parsed. */
  | { readonly kind: "url"; readonly text: string; readonly url: URL };

/** A file. */
export interface FileFacts {
  /** IANA media type. */
  readonly mediaType: string;
  readonly source: FileSource;
}

/** The parts that the specifications write differently. */
export interface SpecWords {
  /** Returns the `data` of a file in a user message or an assistant message. */
  toFileData(source: FileSource): unknown;
  /** Returns a file in a tool result. Undefined if the specification has no form for it. */
  toResultFile(file: FileFacts): PromptPart | undefined;
  /** Returns the result of a denied call. */
  toDenial(reason: string): PromptPart;
  /** The type of a tool that the service defines. */
  readonly providerToolType: string;
  /** Types of message parts that the specification does not have. */
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
  toResultFile: ({ mediaType, source }) => {
    const kind = mediaType.toLowerCase().startsWith("image/") ? "image" : "file";
    if (source.kind === "url") return { type: `${kind}-url`, url: source.text };
    return { type: `${kind}-data`, data: source.data, mediaType };
  },
  toDenial: (reason) => ({ type: "execution-denied", reason }),
  providerToolType: "provider",
  unknownParts: onlyInV4,
};

/** The text of the URL is kept, because parsing may change a URL such as "gs://…". */
function toTaggedData(source: FileSource): object {
  if (source.kind === "base64") return { type: "data", data: source.data };
  const { url, text } = source;
  return url.href === text ? { type: "url", url } : { type: "url", url, originalUrl: text };
}

const v4: SpecWords = {
  toFileData: toTaggedData,
  toResultFile: ({ mediaType, source }) => ({ type: "file", data: toTaggedData(source), mediaType }),
  toDenial: v3.toDenial,
  providerToolType: "provider",
  unknownParts: new Set(),
};

/** One entry per specification: one without an entry does not compile. */
export const specWords: { readonly [Version in AiSdkLanguageModel["specificationVersion"]]: SpecWords } = { v2, v3, v4 };

/**
 * A tool that the service defines, as the provider packages make it: `openai.tools.webSearch({})`. `id` and `args` are required,
 * although the types of the packages do not guarantee them.
 */
export interface AiSdkProviderTool {
  readonly type?: string | undefined;
  /** Such as "openai.web_search". */
  readonly id?: string;
  readonly args?: object;
}

/** A request of the service for permission to run one of its own tools. */
export interface AiSdkApprovalRequest {
  readonly approvalId: string;
  readonly toolCallId: string;
  /** Empty if the service named no call. */
  readonly toolName: string;
  readonly input: Json;
}

/**
 * A warning of the provider package about a part of a request that it could not send unchanged. The types in v2 are
 * "unsupported-setting", "unsupported-tool" and "other"; in v3 and v4 "unsupported", "compatibility", "deprecated" and "other".
 */
export interface AiSdkWarning {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The options of `aiSdkModel`. */
export interface AiSdkModelOptions {
  /** For example `openai("gpt-5")`, or a result of `wrapLanguageModel`. */
  readonly model: AiSdkLanguageModel;
  /** The service of the model, for usage, prices and provider metadata. Default: the model's own `provider`, such as "openai.responses". */
  readonly id?: string | undefined;
  /** API family, for policies that depend on it. Default none. */
  readonly family?: string | undefined;
  /** Options of the provider package, by its name: `{ openai: { reasoningEffort: "low" } }`. Default none. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } } | undefined;
  /** HTTP headers of each request. Default none. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * Tools that the service defines, by the name that the model uses. Calls of tools that the service runs are not calls of the
   * run, and are sent back unchanged. Calls of the others run the tool of the same name in the run. Default none.
   */
  readonly providerTools?: { readonly [name: string]: AiSdkProviderTool } | undefined;
  /**
   * Returns true if the service may run its own tool that it asks permission for, such as one of an MCP server. The answer
   * becomes part of the transcript. Default: no. Throwing means no.
   */
  readonly approveProviderTool?: ((request: AiSdkApprovalRequest) => boolean) | undefined;
  /** Called with each warning, for every request again. Its errors are ignored. Default none. */
  readonly onWarning?: ((warning: AiSdkWarning) => void) | undefined;
  /**
   * The meanings of finish words: `{ "FUNCTION_CALL": "tool-calls" }`. The service's own words are looked up first, then those of
   * the AI SDK. These entries take precedence over the known ones. Default none.
   */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
}

/** The options with their defaults. */
export interface ModelSettings extends AiSdkModelOptions {
  readonly id: string;
}

const checks: Checks<AiSdkModelOptions> = {
  model: ['a language model of the AI SDK, specification v2, v3 or v4, such as openai("gpt-5"), and no id', isLanguageModel],
  id: is.name,
  family: is.name,
  providerOptions: ["an object of objects", isRecordOf(isRecord)],
  headers: ["an object of strings", isRecordOf((value) => typeof value === "string")],
  providerTools: ['an object of tools with "id" and "args"', isRecordOf(isProviderTool)],
  approveProviderTool: is.fn,
  onWarning: is.fn,
  finishReasons: finishReasonsCheck,
};

/** Fills in the defaults. Throws LoopError `invalid-option` or `unknown-option`. */
export function checkModelOptions(options: AiSdkModelOptions): ModelSettings {
  checkFields("options", options, checks);
  checkRequired(options, checks, ["model"]);
  return { ...options, id: options.id ?? options.model.provider };
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
