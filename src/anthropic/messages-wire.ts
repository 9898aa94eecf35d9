// The request side of the Messages wire, as far as this adapter writes it. Written down here, because any version of the SDK from
// 1 on will do.

import type { Json } from "../core/provider-kit.ts";

/** A block of a message, of a system text or of a tool's result. Blocks that the model wrote may have any type and fields. */
export interface WireBlock {
  readonly type: string;
  readonly [field: string]: Json | undefined;
}

/** A message of a request. Its content is always a list, so that a mark for the cache changes nothing else. */
export interface WireMessage {
  readonly role: "user" | "assistant";
  readonly content: readonly WireBlock[];
}

/** Where code runs and files lie on the server's side. */
export interface WireContainer {
  readonly id: string;
  /** ISO 8601. */
  readonly expires_at?: string | undefined;
}

/** The body of a streaming request. Settings' `extra` may add any field to it. */
export interface MessagesRequestBody {
  readonly model: string;
  readonly max_tokens: number;
  readonly messages: readonly { readonly role: string }[];
  readonly stream: true;
}

/** What goes with a body. */
export interface MessagesRequestOptions {
  readonly signal: AbortSignal;
  readonly headers?: { readonly [name: string]: string };
}

/** What this adapter uses of an Anthropic client: `new Anthropic()` of `@anthropic-ai/sdk` has it, and so have those for Bedrock and Vertex. */
export interface AnthropicMessagesClient {
  readonly messages: {
    create(body: MessagesRequestBody, options: MessagesRequestOptions): PromiseLike<AsyncIterable<unknown>>;
  };
}
