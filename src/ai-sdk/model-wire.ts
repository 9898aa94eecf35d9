// What this adapter uses of a language model of the AI SDK. Written down here, because any of three specifications will do, and a
// program has only one of them installed.

import type { Json } from "../core/provider-kit.ts";

/** What is handed to `doStream`, as far as it is the same for all specifications. `extra` of the settings may add any field to it. */
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
