// Defines one common form for the errors of all model services. Adapters create it, and the loop reads only this form.

import type { ProviderError, ProviderErrorCode } from "../../core/types/common.ts";
import { isRecord } from "../guards.ts";
import { toPlainError } from "../plain-error.ts";
import { edges } from "../edges.ts";

const retryableByCode: { readonly [Code in ProviderErrorCode]: boolean } = {
  "stream-ended-early": true,
  "finish-error": true,
  "finish-unknown": false,
  // Only the caller may decide to retry: the stream ended normally and was billed, and a retry would be billed again.
  "no-output": false,
  auth: false,
  "rate-limit": true,
  overloaded: true,
  "bad-request": false,
  "context-too-long": false,
  "request-changed": false,
  "content-filter": false,
  "malformed-call": true,
  network: true,
  server: true,
};

const maxWaitMs = Number.MAX_SAFE_INTEGER;

export function defaultRetryable(code: ProviderErrorCode): boolean {
  return retryableByCode[code];
}

/** The optional fields of a provider error. */
export interface ProviderErrorFacts {
  /** The HTTP status. */
  readonly status?: number | undefined;
  /** True if a retry may succeed. Default: depends on the code. */
  readonly retryable?: boolean | undefined;
  /** How long the service asked the client to wait before a retry, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The cause of the error. Any thrown value is accepted. */
  readonly cause?: unknown;
}

/**
 * Creates a provider error. The message is shortened, and credentials are removed.
 *
 * @example
 * yield { type: "error", error: providerError("overloaded", "All workers are busy.", { status: 503, retryAfterMs: 2_000 }) };
 */
export function providerError(code: ProviderErrorCode, message: string, facts: ProviderErrorFacts = {}): ProviderError {
  const { status, retryable = defaultRetryable(code), retryAfterMs, cause } = facts;
  return {
    name: "ProviderError",
    message: toPlainError(message).message,
    code,
    retryable,
    ...(Number.isFinite(status) ? { status } : {}),
    // Replaces an infinite wait with `maxWaitMs`, because JSON has no Infinity.
    ...(typeof retryAfterMs === "number" && retryAfterMs >= 0 ? { retryAfterMs: Math.min(retryAfterMs, maxWaitMs) } : {}),
    ...(cause === undefined || cause === null ? {} : { cause: toPlainError(cause) }),
  };
}

/** Returns true if a value has the required fields of a provider error. */
export function isProviderError(value: unknown): value is ProviderError {
  return isRecord(value) && typeof value.message === "string" && typeof value.retryable === "boolean" && isCode(value.code);
}

export function isCode(value: unknown): boolean {
  return typeof value === "string" && Object.hasOwn(retryableByCode, value);
}

/** Converts an error that a provider throws or sends as an error chunk. Only the main entry point and the adapters can read SDK errors. */
export function readProviderError(thrown: unknown): ProviderError {
  return edges.readError?.(thrown) ?? toServerError(thrown);
}

function toServerError(thrown: unknown): ProviderError {
  if (isProviderError(thrown)) return providerError(thrown.code, thrown.message, thrown);
  const { message, cause } = toPlainError(thrown);
  return providerError("server", message, { retryable: false, cause });
}
