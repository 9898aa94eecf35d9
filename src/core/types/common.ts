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

/** The price of one iteration in USD, or undefined where it is not known. */
export type Pricing = (usage: Usage, model: { readonly provider: string; readonly model: string }) => number | undefined;

/** An error as plain data: JSON-safe, without stack. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly cause?: PlainError | undefined;
}

/**
 * An error of a model service, in the same words for every provider.
 *
 * `stream-ended-early`: no terminal marker came. `finish-error`, `finish-unknown`: the model ended so. `no-output`: it ended
 * well and gave nothing. The others say what the service or the network answered.
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
  /** HTTP status, where there was one. */
  readonly status?: number | undefined;
  /** Whether the same request may succeed later. */
  readonly retryable: boolean;
  /** The wait that the service asked for, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** Time as the loop sees it: monotonic milliseconds and one-shot timers. Tests hand in their own. */
export interface Clock {
  /** Milliseconds since an arbitrary origin; never goes back. */
  now(): number;
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** Every time limit that guards one foreign await, in milliseconds; `Infinity` means none. */
export interface Timeouts {
  /** Longest silence of a model stream after its first content. Heartbeats put it off to twelve times as long. Default 120,000. */
  readonly streamIdleMs: number;
  /** Longest silence before the first content of a model stream, put off in the same way. Default max(streamIdleMs, 300,000). */
  readonly firstChunkMs: number;
  /** Longest run of one tool call, fresh for each call. Default 300,000. */
  readonly toolMs: number;
  /** How long a stopped tool or an expired stream may take to finish before it is left behind. Default 5,000; 0 does not wait. */
  readonly settleMs: number;
  /** Longest wait for an approval. Default none, for a person may take days. */
  readonly approvalMs: number;
  /** Longest run of one hook or asynchronous validation. Default 30,000. */
  readonly hookMs: number;
  /**
   * Longest silence of a journal, while no body of a step runs. Then the run rejects with LoopError "journal-unresponsive". The stages
   * do not need it. Default 60,000.
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
 * The answer of a validation: the value to use, or what is wrong with it. `unchecked` says that nobody has looked at the value, as with a
 * tool that has plain JSON Schema.
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

/** The answer of a Standard Schema. */
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
 * A piece of content that a user or a tool hands to the model. What a provider has no form for ends the iteration as `bad-request` before
 * the request where a user sent it; where a tool returned it, the model is told in the result. docs/guides/providers.md has a table.
 */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image" } & MediaContent)
  | ({ readonly type: "file" } & MediaContent);

/** Bytes of some kind, or where to find them. The media type decides what they are, whether they are called an image or a file. */
export interface MediaContent {
  /** IANA media type, such as "image/png"; "image/*" for an image whose type is not known. A data URL has its own. */
  readonly mediaType: string;
  /** Base64 text, or a URL (an object, or a string with a scheme such as "https:" or "data:"). Nothing is fetched here. */
  readonly data: string | URL;
}

/** A part of a user message. */
export type UserPart = ContentPart;

/** The user and where to answer. Anything else belongs in `context`. */
export interface Session {
  readonly conversationId?: string | undefined;
  readonly userId?: string | undefined;
  readonly locale?: string | undefined;
  /** In whose name the answer is given; says who owns a thought log. */
  readonly responseTarget?: ResponseTarget | undefined;
  /** Whether users may see notices. Default true. */
  readonly surfaceUserErrors?: boolean | undefined;
  /** Heads the details in `responseText`. Default: no heading. */
  readonly detailsLabel?: string | undefined;
}

/** In whose name an answer is given: a kind of the caller's own, such as "persona", and a name. */
export interface ResponseTarget {
  readonly kind: string;
  readonly name?: string | undefined;
}

/** Clears old tool results from requests. Made by `maskResults`. */
export interface Masking {
  readonly kind: "masking";
}
