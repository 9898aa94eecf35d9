// The options of `aiSdkModel`, checked before anything is sent.

import {
  type Checks,
  checkFields,
  checkRequired,
  type FinishReason,
  finishReasonsCheck,
  is,
  isFilled,
  isRecord,
  type Json,
} from "../core/provider-kit.ts";
import type { AiSdkLanguageModel } from "./model-wire.ts";
import { specWords } from "./spec-words.ts";

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
 * What the provider package says of a request that it could not send as it was: in v2 of the types "unsupported-setting",
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
  /** Who serves the model, for usage, prices and provider metadata. Default: the model's own `provider`, such as "openai.responses". */
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
   * What words for why the model stopped mean: `{ "FUNCTION_CALL": "tool-calls" }`. The service's own words are looked up first, then those
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
