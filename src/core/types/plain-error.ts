/** An error as plain data: JSON-safe, without stack. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly cause?: PlainError | undefined;
}

/**
 * What went wrong with a model, in the same words for every provider.
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
  /** What the service asked to wait, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
}
