import type { ProviderError, ProviderErrorCode } from "../types/common.ts";
import { isRecord } from "../utils/guards.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { type ErrorFacts, readErrorFacts } from "./error-facts.ts";
import type { Provider } from "../types/provider.ts";
import { type Check, invalidOption } from "./check-fields.ts";

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
  return (
    isRecord(value) &&
    typeof value.message === "string" &&
    typeof value.retryable === "boolean" &&
    typeof value.code === "string" &&
    Object.hasOwn(retryableByCode, value.code)
  );
}

/**
 * Converts any value that a provider SDK throws, or that its stream contains as an error object, to a provider error. Never
 * throws.
 *
 * A value that is already a provider error keeps its code and fields. For other values, the first match decides the code:
 *
 * - a used-up quota or balance: `rate-limit`, not retryable
 * - the HTTP status; a rejected request is `context-too-long` if its message is about the context length, and `auth` if its
 *   message is about the API key
 * - the error type that the service sent
 * - an abort: `network`, not retryable
 * - a failed connection: `network`
 * - a body that is not JSON: `server`
 * - anything else: `server`, not retryable, because the cause may be a mistake in the program that a retry would repeat
 *
 * The header `x-should-retry` overrides `retryable`. The result never contains a header, a body or a credential.
 *
 * @example
 * toProviderError(await failure); // { name: "ProviderError", code: "rate-limit", status: 429, retryable: true, retryAfterMs: 7000, message: "Rate limit reached" }
 */
export function toProviderError(thrown: unknown): ProviderError {
  try {
    if (isProviderError(thrown)) return providerError(thrown.code, thrown.message, thrown);
    const facts = readErrorFacts(thrown);
    const { code, retryable } = classify(facts);
    const { message, status, retryAfterMs, shouldRetry } = facts;
    return providerError(code, message, { status, retryAfterMs, retryable: shouldRetry ?? retryable, cause: causeOf(thrown) });
  } catch {
    return providerError("server", "The error cannot be read.", { retryable: false });
  }
}

interface Verdict {
  readonly code: ProviderErrorCode;
  readonly retryable?: boolean | undefined;
}

function classify(facts: ErrorFacts): Verdict {
  if (facts.status === 402 || isAbout(facts, usedUpWords, usedUpText)) return { code: "rate-limit", retryable: false };
  const code = codeOfStatus(facts.status);
  if (code !== undefined && code !== "bad-request") return { code };
  if (isAbout(facts, contextWords, contextText)) return { code: "context-too-long" };
  if (isAbout(facts, keyWords, keyText)) return { code: "auth" };
  return code === undefined ? classifyWords(facts) : { code };
}

function classifyWords(facts: ErrorFacts): Verdict {
  for (const word of facts.words) {
    const code = codeByWord.get(word);
    if (code !== undefined) return { code };
    if (refusedWords.test(word)) return { code: "bad-request" };
  }
  if (isAbout(facts, abortWords, abortText)) return { code: "network", retryable: false };
  if (isAbout(facts, networkWords, networkText)) return { code: "network" };
  if (facts.words.has("syntaxerror")) return { code: "server" };
  return { code: "server", retryable: false };
}

function isAbout({ words, messages }: ErrorFacts, word: RegExp, text: RegExp): boolean {
  return [...words].some((candidate) => word.test(candidate)) || messages.some((message) => text.test(message));
}

/**
 * Some statuses are not obvious:
 *
 * - 408: the server saw a network failure.
 * - 409: a lock timed out. The openai SDK retries it too.
 * - 413: the request is too large. A request with fewer messages may succeed.
 * - 498 from Groq and 529 from Anthropic: the service is overloaded.
 */
function codeOfStatus(status: number | undefined): ProviderErrorCode | undefined {
  if (status === undefined || status < 400) return undefined;
  const code = codeByStatus.get(status);
  if (code !== undefined) return code;
  return status >= 500 ? "server" : "bad-request";
}

const codeByStatus: ReadonlyMap<number, ProviderErrorCode> = new Map([
  [401, "auth"],
  [403, "auth"],
  [407, "auth"],
  [408, "network"],
  [409, "server"],
  [413, "context-too-long"],
  [429, "rate-limit"],
  [498, "overloaded"],
  [503, "overloaded"],
  [529, "overloaded"],
]);

/** Error types that OpenAI, Anthropic and Google send in streams that fail after status 200, in lower case. */
const codeByWord: ReadonlyMap<string, ProviderErrorCode> = new Map([
  ["rate_limit_exceeded", "rate-limit"],
  ["rate_limit_error", "rate-limit"],
  ["resource_exhausted", "rate-limit"],
  ["too_many_requests", "rate-limit"],
  ["throttlingexception", "rate-limit"],
  ["overloaded_error", "overloaded"],
  ["overloaded", "overloaded"],
  ["server_overloaded", "overloaded"],
  ["engine_overloaded_error", "overloaded"],
  ["slow_down", "overloaded"],
  ["server_is_overloaded", "overloaded"],
  ["unavailable", "overloaded"],
  ["service_unavailable", "overloaded"],
  ["authentication_error", "auth"],
  ["permission_error", "auth"],
  ["invalid_api_key", "auth"],
  ["unauthenticated", "auth"],
  ["permission_denied", "auth"],
  ["invalid_request_error", "bad-request"],
  ["not_found_error", "bad-request"],
  ["request_too_large", "bad-request"],
  ["model_not_found", "bad-request"],
  ["badrequesterror", "bad-request"],
  ["invalid_argument", "bad-request"],
  ["failed_precondition", "bad-request"],
  ["not_found", "bad-request"],
  ["server_error", "server"],
  ["internal_server_error", "server"],
  ["api_error", "server"],
  ["timeout_error", "server"],
  ["deadline_exceeded", "server"],
  ["internal", "server"],
  ["vector_store_timeout", "server"],
]);

/** Codes of OpenAI for invalid requests that fail in the stream. A retry would fail again. `image` matches a dozen codes. */
const refusedWords = /^(?:invalid_prompt|data_residency_mismatch|bio_policy|cyber_policy|misalignment_policy_violation)$|image/;

/** "You exceeded your current quota" must not match, because Gemini also sends this text for limits per minute. */
const usedUpWords = /^(?:insufficient_quota|insufficient_balance|billing_hard_limit_reached|billing_not_active|billing_error)$/;
const usedUpText = /insufficient balance|credit balance is too low/i;

const contextWords = /^(?:context_length_exceeded|exceed_context_size_error|model_context_window_exceeded)$/;
/** Messages about the context length, as sent by OpenAI, Anthropic, Gemini, Bedrock, xAI, Groq, vLLM and llama.cpp. */
const contextText =
  /context[ _](?:length|limit|window|size)|prompt is too long|input is too long|too many (?:input )?tokens|input token count|maximum prompt length|reduce the length of the (?:messages|prompt|input)/i;

/** Messages about an invalid key that Google and xAI send with status 400. */
const keyWords = /^api_key_invalid$/;
const keyText = /^(?:incorrect api key|invalid api key|api key (?:not valid|not found|expired))/i;

const abortWords = /^(?:aborterror|apiuseraborterror|err_aborted)$/;
const abortText = /^(?:request was aborted\.?|this operation was aborted\.?)$/i;

const networkWords =
  /^(?:apiconnectionerror|apiconnectiontimeouterror|timeouterror|e(?:connreset|connrefused|connaborted|notfound|ai_again|timedout|pipe|hostunreach|hostdown|netunreach|netdown|netreset)|und_err_\w+|err_stream_premature_close|err_http2_\w+|err_ssl_\w+|connection(?:refused|closed|reset|timeout))$/;
/** Messages of failed connections, from `fetch` in Node, Chromium, Firefox, Safari, Bun and Deno, and from the provider SDKs. */
const networkText =
  /^(?:terminated|fetch failed|failed to fetch|load failed|network ?error.*|connection error\.?|request timed out\.?|premature close|socket hang up|other side closed|error sending request.*|the socket connection was closed.*|connection closed.*|incomplete json segment at the end)$/i;

function causeOf(thrown: unknown): unknown {
  return isRecord(thrown) ? thrown.cause : undefined;
}

export const providerCheck: Check = ['a provider: an object with "id", "model" and "stream"', isProvider];

export function isProvider(value: unknown): value is Provider {
  if (!isRecord(value)) return false;
  const { id, model, stream } = value;
  return typeof id === "string" && typeof model === "string" && typeof stream === "function";
}

export function assertProvider(option: string, value: unknown): void {
  if (!isProvider(value)) throw invalidOption(option, providerCheck[0], value);
}
