// The request side of generateContent, as far as this adapter writes it. Written down here, because any version of the SDK from 2
// on will do.

import type { Json } from "../core/provider-kit.ts";

/** A part of a content. Parts that the model wrote may have any fields. */
export interface WirePart {
  readonly [field: string]: Json | undefined;
}

/** One side's turn. */
export interface WireContent {
  readonly role: "user" | "model";
  readonly parts: readonly WirePart[];
}

/** What is handed to the SDK. Settings' `extra` may add any field to `config`. */
export interface GenerateContentParams {
  readonly model: string;
  /** The conversation: contents with a `role` and `parts`. */
  readonly contents: unknown;
  readonly config?: object | undefined;
}

/** What this adapter uses of a Google client: `new GoogleGenAI()` of `@google/genai` 2 and later has it. */
export interface GoogleGenAIClient {
  /** Whether the client speaks to Vertex AI. */
  readonly vertexai?: boolean | undefined;
  readonly models: {
    generateContentStream(params: GenerateContentParams): PromiseLike<AsyncIterable<unknown>>;
  };
}
