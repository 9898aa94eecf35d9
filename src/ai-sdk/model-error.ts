// Makes provider errors of what provider packages throw or put into their streams.

import { isRecord, parseJson, providerError, toProviderError } from "../core/provider-kit.ts";
import type { ProviderError, ProviderErrorCode, UnknownRecord } from "../core/provider-kit.ts";

/** Errors of the AI SDK that no service has sent. */
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
 * Classifies an error. APICallError keeps what the service said as `data`, or as text, and says in `isRetryable` what the package thinks of
 * trying again: it is asked where nothing else decides, and its no holds where its yes is the rule.
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

/** Copied by name, because the fields of an Error are not found by spreading it. */
function withBody(thrown: UnknownRecord, body: UnknownRecord): UnknownRecord {
  const { name, message, code, type, statusCode, responseHeaders, cause } = thrown;
  return { name, message, code, type, statusCode, responseHeaders, cause, error: body };
}

function judgeRetry(error: ProviderError, { name, isRetryable, statusCode }: UnknownRecord): ProviderError {
  if (isRetryable === false && error.retryable && isRetriedByRule(statusCode)) return { ...error, retryable: false };
  const isUnread = error.code === "server" && !error.retryable && error.status === undefined;
  if (isRetryable !== true || !isUnread) return error;
  // A call that nobody has answered is a connection that failed, for a cause that is not known by its name.
  return { ...error, code: name === "AI_APICallError" ? "network" : "server", retryable: true };
}

/** The statuses that APICallError takes for retryable if the package does not say. */
function isRetriedByRule(status: unknown): boolean {
  return typeof status === "number" && (status === 408 || status === 409 || status === 429 || status >= 500);
}

const longestBody = 100_000;

function parseBody(text: unknown): unknown {
  return typeof text === "string" && text.length <= longestBody ? parseJson(text) : undefined;
}
