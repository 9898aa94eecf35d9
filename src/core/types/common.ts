/** The tokens used by one iteration, or the sum for several iterations. */
export interface Usage {
  /** All input tokens, including cached tokens. */
  readonly inputTokens: number;
  /** All output tokens, including reasoning tokens. */
  readonly outputTokens: number;
  /** The sum of `inputTokens` and `outputTokens`. */
  readonly totalTokens: number;
  /** The part of `inputTokens` that the service read from a cache. */
  readonly cachedInputTokens?: number | undefined;
  /** The part of `inputTokens` that the service wrote to a cache. */
  readonly cacheWriteTokens?: number | undefined;
  /** The part of `outputTokens` that the model used for reasoning. */
  readonly reasoningTokens?: number | undefined;
}

/** Computes the price of one iteration in USD. Return undefined if the price is unknown. */
export type Pricing = (usage: Usage, model: { readonly provider: string; readonly model: string }) => number | undefined;

/** An error as JSON data, without its stack. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly cause?: PlainError | undefined;
}

/**
 * The code that classifies an error from a model service. All providers use the same codes.
 *
 * - `stream-ended-early`: the stream ended without a finish reason.
 * - `finish-error`, `finish-unknown`: the stream ended with the finish reason "error" or "unknown".
 * - `no-output`: the stream ended normally, but contained no text and no calls.
 * - `content-filter`, `malformed-call`: the service reported a filtered prompt, or an invalid call by the model, as an error. The built-in
 *   adapters end the stream with the finish reason that has the same name instead.
 * - `request-changed`: the model requires the beginning of the conversation to stay the same, but it has changed.
 * - All other codes: an error from the service or the network.
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
  | "request-changed"
  | "content-filter"
  | "malformed-call"
  | "network"
  | "server";

/** An error from a provider. `code` says what kind of error it is. */
export interface ProviderError extends PlainError {
  readonly code: ProviderErrorCode;
  /** The HTTP status, if there was a response. */
  readonly status?: number | undefined;
  /** True if the same request may succeed later. */
  readonly retryable: boolean;
  /** How long the service asks the client to wait before a retry, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}

/** The loop's source of time: monotonic milliseconds and one-shot timers. Tests can pass their own clock. */
export interface Clock {
  /** Returns the milliseconds since an arbitrary moment. The number never decreases. */
  now(): number;
  setTimeout(fn: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
}

/** The time limits for code outside the package, in milliseconds. `Infinity` means no limit. */
export interface Timeouts {
  /**
   * The maximum silence in a model stream after its first content. If this is exceeded, the run ends as `stream-idle`. The provider's
   * heartbeats can extend this limit to at most twelve times its length. Default 120,000.
   */
  readonly streamIdleMs: number;
  /**
   * The maximum silence before the first content of a model stream. If this is exceeded, the run ends as `first-chunk`. The provider's
   * heartbeats can extend this limit to at most twelve times its length. Default: 300,000 or `streamIdleMs`, whichever is larger.
   */
  readonly firstChunkMs: number;
  /**
   * The maximum duration of one model stream, with all its attempts and pauses. After that, the run ends as `stream-too-long`. Time during
   * which a slow reader of `streamToolLoop` holds the stream back does not count. Optional, because functions that you call without
   * `runToolLoop` may omit it. Default 1,800,000 (30 minutes).
   */
  readonly streamMs?: number | undefined;
  /** The maximum duration of one tool call. After that, the call gets the outcome `timed-out`, and the run continues. Default 300,000. */
  readonly toolMs: number;
  /**
   * How long the loop waits for a stopped tool or a timed-out stream to finish. With 0, the loop does not wait. Default 5,000.
   */
  readonly toolCleanupMs: number;
  /**
   * The maximum wait for an approval. After that, the call gets the outcome `approval-failed`. Default: no limit, because a person may take
   * days.
   */
  readonly approvalMs: number;
  /**
   * The maximum duration of one of the caller's functions, such as `onIteration`, a stop condition, a `guardrails` check or
   * `needsApproval`, and of one asynchronous validation. A hook that takes longer ends the run as `hook-failed`. Default 30,000.
   */
  readonly callbackMs: number;
  /**
   * The maximum time for one call to a journal method, excluding the steps that the method runs. When it expires,
   * the run rejects with LoopError "journal-unresponsive". Optional, because functions that you call without `runToolLoop` do not
   * use a journal. Default 60,000.
   */
  readonly journalMs?: number | undefined;
}

/** A JSON Schema document. */
export type JsonSchema = { readonly [keyword: string]: Json | undefined };

/** One problem found by validation. */
export interface Issue {
  readonly message: string;
  /** The path to the invalid part of the value, starting with the outermost key. */
  readonly path?: readonly (string | number)[] | undefined;
}

/**
 * The result of a validation: the value to use, or the issues found. `unchecked` is set if nothing was validated, for example
 * because a tool has a plain JSON Schema.
 */
export type Validation =
  | { readonly value: unknown; readonly unchecked?: true | undefined }
  | { readonly issues: readonly Issue[] };

/**
 * A schema from any library that follows version 1 of the Standard Schema specification (https://standardschema.dev), such as zod, valibot
 * or arktype.
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaProps<Input, Output>;
}

/** The value of a Standard Schema's `~standard` property. */
export interface StandardSchemaProps<Input = unknown, Output = Input> {
  readonly version: 1;
  readonly vendor: string;
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  /** The Standard JSON Schema extension, which zod has supported since version 4.2. */
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
 * A piece of content that a user or a tool sends to the model.
 *
 * If a provider does not support a part of a user message, the iteration ends with the provider error `bad-request`, before a
 * request is sent. For an unsupported part of a tool result, the model receives text instead of the part. See the table in
 * docs/guides/providers.md.
 */
export type ContentPart =
  | { readonly type: "text"; readonly text: string }
  | ({ readonly type: "image" } & MediaContent)
  | ({ readonly type: "file" } & MediaContent);

/**
 * An image or a file: its content or its URL. Images and files differ only in `type`. The media type determines how the content is
 * sent.
 */
export interface MediaContent {
  /** An IANA media type, such as "image/png", or "image/*" for an image of unknown type. The media type in a data URL overrides it. */
  readonly mediaType: string;
  /**
   * The content as base64 text, or a URL: a URL object, or a string with a scheme such as "https:" or "data:". The library does
   * not fetch URLs.
   */
  readonly data: string | URL;
  /** The name of the file, such as "report.pdf". Sent to services that have a field for it. Default: no name. */
  readonly filename?: string | undefined;
}

/** A part of a user message. */
export type UserPart = ContentPart;

/** Information about the user, and preferences for the answer. Put any other data in the `context` option. */
export interface Session {
  readonly conversationId?: string | undefined;
  readonly userId?: string | undefined;
  readonly locale?: string | undefined;
  /** The persona or party that the model speaks for. If there is a thought log, this value becomes the result's `thoughtLogOwner`. */
  readonly responseTarget?: ResponseTarget | undefined;
  /** Set to `false` to turn off `notice` events. Default true. */
  readonly surfaceUserErrors?: boolean | undefined;
  /** The heading above the details in `responseText`. Default: no heading. */
  readonly detailsLabel?: string | undefined;
}

/** The party that the model speaks for: a name, and a kind that you choose, such as "persona". */
export interface ResponseTarget {
  readonly kind: string;
  readonly name?: string | undefined;
}

/** JSON data: any value that remains the same after JSON.stringify and JSON.parse. */
export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json | undefined };

/**
 * The type of a value after JSON.stringify and JSON.parse. For a type with a `toJSON` method, such as Date, the return type of
 * that method is converted.
 */
// Leaves JSON data unchanged, because converting a recursive type such as `Json` would never end.
export type Plain<T> = T extends Json
  ? T
  : T extends { toJSON(key: string): infer Written }
    ? Plain<Written>
    : T extends object
      ? { [Key in keyof T]: Plain<T[Key]> }
      : T;
