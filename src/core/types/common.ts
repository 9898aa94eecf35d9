// Small types that many other types use: usage, errors as data, clocks, schemas, content, the session.

import type { Json } from "./json.ts";

/** The tokens that one iteration used, or the sum over several iterations. */
export interface Usage {
  /** All input tokens, including cached tokens. */
  readonly inputTokens: number;
  /** All output tokens, including reasoning tokens. */
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** The part of `inputTokens` that was read from a cache. */
  readonly cachedInputTokens?: number | undefined;
  /** The part of `inputTokens` that was written to a cache. */
  readonly cacheWriteTokens?: number | undefined;
  /** The part of `outputTokens` that was used for reasoning. */
  readonly reasoningTokens?: number | undefined;
}

/** Returns the price of one iteration in USD, or undefined if the price is unknown. */
export type Pricing = (usage: Usage, model: { readonly provider: string; readonly model: string }) => number | undefined;

/** An error as plain data that can be written as JSON. It has no stack. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly cause?: PlainError | undefined;
}

/**
 * The code of an error from a model service. Every provider uses the same codes.
 *
 * - `stream-ended-early`: the stream ended without a finish reason.
 * - `finish-error`, `finish-unknown`: the stream ended with the finish reason "error" or "unknown".
 * - `no-output`: the stream ended normally, but contained no text and no calls.
 * - The other codes classify errors from the service or the network.
 */
export type ProviderErrorCode =
  | "stream-ended-early"
  | "finish-error"
  | "finish-unknown"
  | "no-output"
  | "auth"
  | "rate-limit"
  | "overloaded"
  | "bad-request"
  | "context-too-long"
  | "network"
  | "server";

/** An error from a provider, with a code that classifies it. */
export interface ProviderError extends PlainError {
  readonly code: ProviderErrorCode;
  /** HTTP status, if there was one. */
  readonly status?: number | undefined;
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
  /** How long the service asked to wait before a retry, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** The loop's source of time: monotonic milliseconds and one-shot timers. Tests pass their own. */
export interface Clock {
  /** Milliseconds since an arbitrary moment. Never goes back. */
  now(): number;
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** The limits on waiting for code outside the package, in milliseconds. `Infinity` means no limit. */
export interface Timeouts {
  /**
   * The longest silence of a model stream after its first content. Heartbeats can extend this limit to at most twelve times its
   * length. Default 120,000.
   */
  readonly streamIdleMs: number;
  /**
   * The longest silence before the first content of a model stream. Heartbeats can extend this limit to at most twelve times its
   * length. Default: the larger value of 300,000 and `streamIdleMs`.
   */
  readonly firstChunkMs: number;
  /** The longest duration of one tool call. Each call has its own timer. Default 300,000. */
  readonly toolMs: number;
  /** How long the loop waits for a stopped tool or an expired stream to finish. With 0 it does not wait. Default 5,000. */
  readonly settleMs: number;
  /** The longest wait for an approval. Default: no limit, because a person may take days. */
  readonly approvalMs: number;
  /** The longest duration of one hook or one asynchronous validation. Default 30,000. */
  readonly hookMs: number;
  /**
   * How long a journal may take to answer, not counting the time in which a step runs. After that the run rejects with LoopError
   * "journal-unresponsive". Stages that you call directly do not need this limit. Default 60,000.
   */
  readonly journalMs?: number | undefined;
}

/** A JSON Schema document. */
export type JsonSchema = { readonly [keyword: string]: Json | undefined };

/** One problem that a validation found. */
export interface Issue {
  readonly message: string;
  /** The path to the invalid part of the value, outermost key first. */
  readonly path?: readonly (string | number)[] | undefined;
}

/**
 * The result of a validation: the value to use, or the issues with the value. `unchecked` is set if the value was not validated,
 * for example if a tool has a plain JSON Schema.
 */
export type Validation =
  | { readonly value: unknown; readonly unchecked?: true | undefined }
  | { readonly issues: readonly Issue[] };

/**
 * A schema from any library that follows version 1 of the Standard Schema specification (https://standardschema.dev), such as
 * zod, valibot and arktype.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaProps<Input, Output>;
}

/** The properties of a Standard Schema. */
export interface StandardSchemaProps<Input = unknown, Output = Input> {
  readonly version: 1;
  readonly vendor: string;
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  /** The Standard JSON Schema extension. zod has it since 4.2. */
  readonly jsonSchema?:
    | { readonly input: (options: { readonly target: "draft-2020-12" }) => Record<string, unknown> }
    | undefined;
}

/** The result of a Standard Schema validation. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: readonly {
        readonly message: string;
        readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
      }[];
    };

/** A schema for a tool's arguments. */
export type ToolSchema = StandardSchema | JsonSchema;

/**
 * A piece of content that a user or a tool gives to the model.
 *
 * If the provider cannot send a part of a user message, the iteration ends with the provider error `bad-request`, and no request is
 * sent. If the provider cannot send a part of a tool result, the model gets a text which says so. See the table in
 * docs/guides/providers.md.
 */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image" } & MediaContent)
  | ({ readonly type: "file" } & MediaContent);

/**
 * The content of an image or a file, or its URL. Providers decide by the media type how to send it. Apart from their `type`, image
 * and file parts are the same.
 */
export interface MediaContent {
  /** An IANA media type, such as "image/png", or "image/*" for an image of unknown type. The media type in a data URL overrides it. */
  readonly mediaType: string;
  /** Base64 text, or a URL: a URL object, or a string with a scheme such as "https:" or "data:". turnwright does not fetch URLs. */
  readonly data: string | URL;
}

/** A part of a user message. */
export type UserPart = ContentPart;

/** Facts about the user, and how to answer. Put any other data in `context`. */
export interface Session {
  readonly conversationId?: string | undefined;
  readonly userId?: string | undefined;
  readonly locale?: string | undefined;
  /** The persona or party in whose name the model answers. Becomes `thoughtLogOwner` of the result if there is a thought log. */
  readonly responseTarget?: ResponseTarget | undefined;
  /** Set to `false` to suppress `notice` events. Default true. */
  readonly surfaceUserErrors?: boolean | undefined;
  /** The heading above the details in `responseText`. Default: no heading. */
  readonly detailsLabel?: string | undefined;
}

/** The party in whose name the model answers: a kind that you choose, such as "persona", and a name. */
export interface ResponseTarget {
  readonly kind: string;
  readonly name?: string | undefined;
}

/** A policy that removes old tool results from requests. Made by `maskResults`. */
export interface Masking {
  readonly kind: "masking";
}
