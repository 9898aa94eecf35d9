import { isRecord, parseJson, providerError, toProviderError } from "../core/provider-kit.ts";
import type { ProviderError, ProviderErrorCode, UnknownRecord } from "../core/provider-kit.ts";

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
 * Converts an error that a provider package threw, or sent as a stream part. The response body of an `APICallError` is in `data`
 * (parsed) or `responseBody` (text). With `isRetryable: true`, an unknown error becomes retryable. With `isRetryable: false`, an
 * error with a status that is retryable by default is not retryable.
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

function withBody(thrown: UnknownRecord, body: UnknownRecord): UnknownRecord {
  const { name, message, code, type, statusCode, responseHeaders, cause } = thrown;
  return { name, message, code, type, statusCode, responseHeaders, cause, error: body };
}

function judgeRetry(error: ProviderError, { name, isRetryable, statusCode }: UnknownRecord): ProviderError {
  if (isRetryable === false && error.retryable && isRetriedByRule(statusCode)) return { ...error, retryable: false };
  const isUnread = error.code === "server" && !error.retryable && error.status === undefined;
  if (isRetryable !== true || !isUnread) return error;
  return { ...error, code: name === "AI_APICallError" ? "network" : "server", retryable: true };
}

/** True for a status that `APICallError` treats as retryable by default. */
function isRetriedByRule(status: unknown): boolean {
  return typeof status === "number" && (status === 408 || status === 409 || status === 429 || status >= 500);
}

const longestBody = 100_000;

function parseBody(text: unknown): unknown {
  return typeof text === "string" && text.length <= longestBody ? parseJson(text) : undefined;
}
