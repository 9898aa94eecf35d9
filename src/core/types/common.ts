// Small types that many others use: usage, errors as data, clocks, schemas, content, the session.

import type { Json } from "./json.ts";

/** Tokens of one model iteration, or the sum of several. */
export interface Usage {
  /** All input tokens, cached ones included. */
  readonly inputTokens: number;
  /** All output tokens, reasoning included. */
  readonly outputTokens: number;
  readonly totalTokens: number;
  /** The part of `inputTokens` that was read from a cache. */
  readonly cachedInputTokens?: number | undefined;
  /** The part of `inputTokens` that was written to a cache. */
  readonly cacheWriteTokens?: number | undefined;
  /** The part of `outputTokens` that was spent on reasoning. */
  readonly reasoningTokens?: number | undefined;
}

/** Returns the price of one iteration in USD, or undefined if the price is unknown. */
export type Pricing = (usage: Usage, model: { readonly provider: string; readonly model: string }) => number | undefined;

/** An error as plain data: JSON-safe, without stack. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly cause?: PlainError | undefined;
}

/**
 * An error of a model service. Every provider uses the same codes.
 *
 * - `stream-ended-early`: the stream ended without a terminal marker.
 * - `finish-error`, `finish-unknown`: the model ended with that finish reason.
 * - `no-output`: the stream ended normally and contained nothing.
 * - The others classify the error of the service or the network.
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

/** A classified error of a provider. */
export interface ProviderError extends PlainError {
  readonly code: ProviderErrorCode;
  /** HTTP status, if there was one. */
  readonly status?: number | undefined;
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
  /** The wait that the service asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** The loop's source of time: monotonic milliseconds and one-shot timers. Tests pass their own. */
export interface Clock {
  /** Milliseconds since an arbitrary origin; never goes back. */
  now(): number;
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** Every limit on waiting for outside code, in milliseconds; `Infinity` means none. */
export interface Timeouts {
  /**
   * Longest silence of a model stream after its first content. Heartbeats extend it, to at most twelve times its length. Default
   * 120,000.
   */
  readonly streamIdleMs: number;
  /**
   * Longest silence before the first content of a model stream. Heartbeats extend it in the same way. Default max(streamIdleMs,
   * 300,000).
   */
  readonly firstChunkMs: number;
  /** Longest duration of one tool call; each call has its own timer. Default 300,000. */
  readonly toolMs: number;
  /** How long the loop waits for a stopped tool or an expired stream to finish. Default 5,000; 0 does not wait. */
  readonly settleMs: number;
  /** Longest wait for an approval. Default none, because a person may take days. */
  readonly approvalMs: number;
  /** Longest duration of one hook or asynchronous validation. Default 30,000. */
  readonly hookMs: number;
  /**
   * Longest silence of a journal while no step body runs. After it the run rejects with LoopError "journal-unresponsive". Stages
   * that are called on their own do not need it. Default 60,000.
   */
  readonly journalMs?: number | undefined;
}

/** A JSON Schema document. */
export type JsonSchema = { readonly [keyword: string]: Json | undefined };

/** One problem with one value. */
export interface Issue {
  readonly message: string;
  /** The path in the value, outermost key first. */
  readonly path?: readonly (string | number)[] | undefined;
}

/**
 * The result of a validation: the value to use, or its issues. `unchecked` is set if the value was not validated, as for a tool
 * with plain JSON Schema.
 */
export type Validation =
  | { readonly value: unknown; readonly unchecked?: true | undefined }
  | { readonly issues: readonly Issue[] };

/**
 * A schema of any library that follows the Standard Schema specification, version 1 (https://standardschema.dev), such as
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
  /** The Standard JSON Schema extension (zod since 4.2). */
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

/** A schema of a tool's arguments. */
export type ToolSchema = StandardSchema | JsonSchema;

/**
 * A piece of content that a user or a tool gives to the model.
 *
 * If the provider cannot send a part of a user message, the iteration ends as `bad-request` before the request. If it cannot send
 * a part of a tool result, the result text says so to the model. See the table in docs/guides/providers.md.
 */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image" } & MediaContent)
  | ({ readonly type: "file" } & MediaContent);

/** Bytes, or their URL. The media type decides how they are treated; `image` and `file` parts are otherwise the same. */
export interface MediaContent {
  /** IANA media type, such as "image/png", or "image/*" for an image of unknown type. A data URL has its own. */
  readonly mediaType: string;
  /** Base64 text, or a URL (an object, or a string with a scheme such as "https:" or "data:"). The library fetches nothing. */
  readonly data: string | URL;
}

/** A part of a user message. */
export type UserPart = ContentPart;

/** The user, and how to answer. Anything else belongs in `context`. */
export interface Session {
  readonly conversationId?: string | undefined;
  readonly userId?: string | undefined;
  readonly locale?: string | undefined;
  /** The persona or party in whose name the answer is given. Becomes `thoughtLogOwner` if there is a thought log. */
  readonly responseTarget?: ResponseTarget | undefined;
  /** Set to `false` to suppress `notice` events. Default true. */
  readonly surfaceUserErrors?: boolean | undefined;
  /** Heading of the details in `responseText`. Default: no heading. */
  readonly detailsLabel?: string | undefined;
}

/** The party in whose name an answer is given: a kind that the caller chooses, such as "persona", and a name. */
export interface ResponseTarget {
  readonly kind: string;
  readonly name?: string | undefined;
}

/** Clears old tool results from requests. Made by `maskResults`. */
export interface Masking {
  readonly kind: "masking";
}
