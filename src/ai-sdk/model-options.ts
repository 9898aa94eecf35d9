// The options of `aiSdkModel`, and how the three specifications differ.
// The types are written down here, because any of the three will do.

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

/** The argument of `doStream`, as far as it is the same for all specifications. `extra` of the settings may add any field to it. */
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
  /** Patterns of URLs by media type, or a promise of them. */
  readonly supportedUrls: object | PromiseLike<object>;
  doStream(options: AiSdkCallOptions): PromiseLike<{ readonly stream: object; readonly response?: object | undefined }>;
}

/** A piece of a message of a prompt. */
export interface PromptPart {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** A message of a prompt. */
export type PromptMessage =
  | { readonly role: "system"; readonly content: string }
  | { readonly role: "user" | "assistant" | "tool"; readonly content: readonly PromptPart[] };

/** A part of a model's turn as it is kept: the fields of a prompt part, but for the bytes of a file, which are base64 or a URL. */
export interface TurnPart {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** The source of a file's bytes. */
export type FileSource =
  | { readonly kind: "base64"; readonly data: string }
  /** As it was written, and parsed. */
  | { readonly kind: "url"; readonly text: string; readonly url: URL };

/** Some file. */
export interface FileFacts {
  /** IANA media type. */
  readonly mediaType: string;
  readonly source: FileSource;
}

/** How one specification says what another one says differently. */
export interface SpecWords {
  /** The `data` of a file in a user's message or in a model's turn. */
  toFileData(source: FileSource): unknown;
  /** A file in the result of a tool. Undefined where there is no word for it. */
  toResultFile(file: FileFacts): PromptPart | undefined;
  /** The result of a call that nobody allowed. */
  toDenial(reason: string): PromptPart;
  /** The type of a tool that the service defines. */
  readonly providerToolType: string;
  /** Kinds of parts of a turn that there is no word for. */
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

/** Parsing may change a URL such as "gs://…", which its service wants as it was. */
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

/** The words of each specification: one without does not compile. */
export const specWords: { readonly [Version in AiSdkLanguageModel["specificationVersion"]]: SpecWords } = { v2, v3, v4 };

/**
 * A tool that the service defines, as the provider packages make them: `openai.tools.webSearch({})`. `id` and `args` are needed; the
 * packages' own types do not promise them.
 */
export interface AiSdkProviderTool {
  readonly type?: string | undefined;
  /** Such as "openai.web_search". */
  readonly id?: string;
  readonly args?: object;
}

/** A tool of the service's own side that it wants to run, and asks for leave. */
export interface AiSdkApprovalRequest {
  readonly approvalId: string;
  readonly toolCallId: string;
  /** Empty where the service named no call. */
  readonly toolName: string;
  readonly input: Json;
}

/**
 * A warning of the provider package about a request that it could not send as it was: in v2 of the types "unsupported-setting",
 * "unsupported-tool" and "other", in v3 and v4 "unsupported", "compatibility", "deprecated" and "other".
 */
export interface AiSdkWarning {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** How `aiSdkModel` reaches its model. */
export interface AiSdkModelOptions {
  /** Such as `openai("gpt-5")`; also what `wrapLanguageModel` makes of one. */
  readonly model: AiSdkLanguageModel;
  /** The service of the model, for usage, prices and provider metadata. Default: the model's own `provider`, such as "openai.responses". */
  readonly id?: string | undefined;
  /** API family that policies may ask for. Default none. */
  readonly family?: string | undefined;
  /** Options of the provider package, by its name: `{ openai: { reasoningEffort: "low" } }`. Default none. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [option: string]: Json } } | undefined;
  /** HTTP headers that go with each request. Default none. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * Tools that the service defines, by the name that the model calls them. Those that the service runs are never calls of the run, and
   * are sent back as they came. The calls of one that it does not run are run by the tool of that name among the run's. Default none.
   */
  readonly providerTools?: { readonly [name: string]: AiSdkProviderTool } | undefined;
  /**
   * Whether the service may run a tool of its own side that it asks leave for, such as one of an MCP server. The answer is part of the
   * transcript. Default: no; one that throws says no too.
   */
  readonly approveProviderTool?: ((request: AiSdkApprovalRequest) => boolean) | undefined;
  /** Is told what could not be sent as it was, with each request anew. What it throws is passed over. Default: nobody is. */
  readonly onWarning?: ((warning: AiSdkWarning) => void) | undefined;
  /**
   * The meanings of words for why the model stopped: `{ "FUNCTION_CALL": "tool-calls" }`. The service's own words are looked up first, then those
   * of the AI SDK. They outrank the known ones. Default none.
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
