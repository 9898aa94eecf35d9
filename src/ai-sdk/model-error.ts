// Converts errors that provider packages throw or put into their streams to provider errors.

import { isRecord, parseJson, providerError, toProviderError } from "../core/provider-kit.ts";
import type { ProviderError, ProviderErrorCode, UnknownRecord } from "../core/provider-kit.ts";

/** Errors of the AI SDK itself, not of a service. */
const codeByName: ReadonlyMap<string, ProviderErrorCode> = new Map([
  ["AI_LoadAPIKeyError", "auth"],
  ["AI_LoadSettingError", "bad-request"],
  ["AI_InvalidArgumentError", "bad-request"],
  ["AI_InvalidPromptError", "bad-request"],
  ["AI_NoSuchModelError", "bad-request"],
  ["AI_NoSuchProviderReferenceError", "bad-request"],
  ["AI_UnsupportedFunctionalityError", "bad-request"],
  ["AI_EmptyResponseBodyError", "server"],
]);

/**
 * Classifies an error. APICallError keeps the body of the service as `data` or as text. Its `isRetryable` is the package's
 * opinion. It is used if nothing else decides. Its `false` also counts if the status is retryable by default.
 */
export function toModelError(thrown: unknown): ProviderError {
  if (!isRecord(thrown)) return toProviderError(thrown);
  const { name, message } = thrown;
  const code = typeof name === "string" ? codeByName.get(name) : undefined;
  if (code !== undefined) return providerError(code, typeof message === "string" ? message : "", { cause: thrown.cause });
  const body = thrown.data ?? parseBody(thrown.responseBody);
  const error = toProviderError(isRecord(body) ? withBody(thrown, body) : thrown);
  return judgeRetry(error, thrown);
}

/** Copied by name, because spreading an Error does not copy its fields. */
function withBody(thrown: UnknownRecord, body: UnknownRecord): UnknownRecord {
  const { name, message, code, type, statusCode, responseHeaders, cause } = thrown;
  return { name, message, code, type, statusCode, responseHeaders, cause, error: body };
}

function judgeRetry(error: ProviderError, { name, isRetryable, statusCode }: UnknownRecord): ProviderError {
  if (isRetryable === false && error.retryable && isRetriedByRule(statusCode)) return { ...error, retryable: false };
  const isUnread = error.code === "server" && !error.retryable && error.status === undefined;
  if (isRetryable !== true || !isUnread) return error;
  // A call without a response is a failed connection, for a cause that is not known by name.
  return { ...error, code: name === "AI_APICallError" ? "network" : "server", retryable: true };
}

/** The statuses that APICallError treats as retryable by default. */
function isRetriedByRule(status: unknown): boolean {
  return typeof status === "number" && (status === 408 || status === 409 || status === 429 || status >= 500);
}

const longestBody = 100_000;

function parseBody(text: unknown): unknown {
  return typeof text === "string" && text.length <= longestBody ? parseJson(text) : undefined;
}
