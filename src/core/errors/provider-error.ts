// The one form of an error of a model service. Adapters make it, and the loop reads only this form.

import type { ProviderError, ProviderErrorCode } from "../types/common.ts";
import { isRecord } from "../utils/guards.ts";
import { toPlainError } from "../utils/plain-error.ts";
import type { Provider } from "../types/provider.ts";
import { type Check, refuseOption } from "./check-fields.ts";
import { edges } from "../utils/edges.ts";
import type { ErrorWord } from "./error-words.ts";

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

const longestWaitMs = Number.MAX_SAFE_INTEGER;

export function defaultRetryable(code: ProviderErrorCode): boolean {
  return retryableByCode[code];
}

/** The optional fields of a provider error. */
export interface ProviderErrorFacts {
  /** HTTP status. */
  readonly status?: number | undefined;
  /** True if a retry may succeed. Default: depends on the code. */
  readonly retryable?: boolean | undefined;
  /** How long the service asked to wait before a retry, in milliseconds. */
  readonly retryAfterMs?: number | undefined;
  /** The cause of the error. Any thrown value is accepted. */
  readonly cause?: unknown;
}

/**
 * Makes a provider error. The message is shortened, and credentials are removed.
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
    // JSON has no Infinity, so `longestWaitMs` replaces an infinite wait.
    ...(typeof retryAfterMs === "number" && retryAfterMs >= 0 ? { retryAfterMs: Math.min(retryAfterMs, longestWaitMs) } : {}),
    ...(cause === undefined || cause === null ? {} : { cause: toPlainError(cause) }),
  };
}

/** Returns true if a value has the required fields of a provider error. */
export function isProviderError(value: unknown): value is ProviderError {
  return isRecord(value) && typeof value.message === "string" && typeof value.retryable === "boolean" && isCode(value.code);
}

function isCode(value: unknown): boolean {
  return typeof value === "string" && Object.hasOwn(retryableByCode, value);
}

/**
 * Converts what a provider throws, or sends as an error chunk. Only the main entry and the adapters can read the errors of SDKs. Never
 * throws.
 */
export function readProviderError(thrown: unknown): ProviderError {
  return edges.readError?.(thrown) ?? toServerError(thrown);
}

function toServerError(thrown: unknown): ProviderError {
  try {
    if (isProviderError(thrown)) return providerError(thrown.code, thrown.message, thrown);
    const { message, cause } = toPlainError(thrown);
    return providerError("server", message, { retryable: false, cause });
  } catch {
    return providerError("server", "The error cannot be read.", { retryable: false });
  }
}

/** The check for the option `errorWords`. */
export const errorWordsCheck: Check = [
  'an array such as [{ pattern: /input too big/i, code: "context-too-long" }], each with a RegExp and a code of a provider error',
  (value) =>
    Array.isArray(value) && value.every((row: unknown) => isRecord(row) && row.pattern instanceof RegExp && isCode(row.code)),
];

/** Changes the code of an error whose message matches one of the words. The first match is used. */
export function withErrorWords(error: ProviderError, words: readonly ErrorWord[] = []): ProviderError {
  const found = words.find(({ pattern }) => error.message.search(pattern) >= 0);
  return found === undefined ? error : { ...error, code: found.code, retryable: defaultRetryable(found.code) };
}

export const providerCheck: Check = ["a provider", isProvider, "provider"];

export function isProvider(value: unknown): value is Provider {
  if (!isRecord(value)) return false;
  const { id, model, stream } = value;
  return typeof id === "string" && typeof model === "string" && typeof stream === "function";
}

export function assertProvider(option: string, value: unknown): void {
  if (!isProvider(value)) throw refuseOption(option, providerCheck, value);
}
