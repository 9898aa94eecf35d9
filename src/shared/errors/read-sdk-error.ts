// Reads the errors of provider SDKs: their code, whether a retry may help, and how long to wait.

import type { ProviderError, ProviderErrorCode } from "../../core/types/common.ts";
import { recordOf } from "../plain-error.ts";
import { type ErrorFacts, readErrorFacts } from "./error-facts.ts";
import { type ErrorVerdict, exactWords, findVerdict, looseWords } from "./error-words.ts";
import { isProviderError, providerError } from "./provider-error.ts";

/**
 * Converts any value that a provider SDK throws, or that its stream contains as an error object, to a provider error. Never
 * throws.
 *
 * A value that is already a provider error keeps its code and fields. For other values, the first match determines the code:
 *
 * - a service's message or code with one exact meaning, such as a used-up quota (`rate-limit`, not retryable), a filtered prompt or an
 *   overload
 * - the HTTP status, except for statuses with many meanings, such as 400 and 500, or 503 with a message about a context that is too long.
 *   If a gateway passes on another service's error, that service's status and code take precedence over the gateway's
 * - a message about the context length, the API key or the model name
 * - the HTTP status, or the error type that the service sent
 * - an abort: `network`, not retryable
 * - a failed connection: `network`
 * - a body that is not JSON: `server`
 * - anything else: `server`, not retryable, because the cause may be a mistake in the program that a retry would repeat
 *
 * The message is the reason that the service gives. If a gateway passes on another service's error, the message contains that service's
 * reason. If no header says how long to wait, `retryAfterMs` comes from the body, such as "try again in 6.3s". If a connection fails,
 * the message ends with the last cause, such as "connect ECONNREFUSED 127.0.0.1:11434".
 *
 * The `x-should-retry` header overrides `retryable`. The result never contains a header, a body or a credential.
 *
 * @example
 * toProviderError(await failure); // { name: "ProviderError", code: "rate-limit", status: 429, retryable: true, retryAfterMs: 7000,
 * message: "Rate limit reached" }
 */
export function toProviderError(thrown: unknown): ProviderError {
  try {
    if (isProviderError(thrown)) return providerError(thrown.code, thrown.message, thrown);
    const facts = readErrorFacts(thrown);
    const { code, retryable } = classify(facts);
    const { message, messages, status, retryAfterMs, shouldRetry } = facts;
    // Adds the last cause, because if a connection fails, the SDKs just say "Connection error.", and `fetch` just says "fetch failed".
    const why = networkText.test(message) ? messages.findLast(Boolean) : message;
    return providerError(code, why === message ? why : `${message.replace(/\.$/, "")}: ${why}`, {
      status,
      retryAfterMs,
      retryable: shouldRetry ?? retryable,
      cause: recordOf(thrown).cause,
    });
  } catch {
    return providerError("server", "The error cannot be read.", { retryable: false });
  }
}

const vague: ReadonlySet<ProviderErrorCode> = new Set(["bad-request", "server"]);

/**
 * Classifies an error. Servers behind a proxy use 503 or 529 to report a context that is too long
 * (github.com/NousResearch/hermes-agent/pull/56292).
 */
function classify(facts: ErrorFacts): ErrorVerdict {
  const exact = findVerdict(exactWords, facts);
  if (exact !== undefined) return exact;
  const { status, upstream } = facts;
  const said = [judgeStatus(upstream.status), judgeWords(upstream.words), judgeStatus(status)].flatMap((one) => one ?? []);
  const loose = findVerdict(looseWords, facts);
  const isTooLong = loose?.code === "context-too-long" && isAbout(facts, /exceed/, /exceed|too (?:long|large|many)|longer than/i);
  const definite = said.find(({ code }) => !vague.has(code) && !(code === "overloaded" && isTooLong));
  return definite ?? loose ?? said[0] ?? judgeWords(facts.words) ?? classifyFailure(facts);
}

function judgeWords(words: ReadonlySet<string>): ErrorVerdict | undefined {
  for (const word of words) {
    const found = codeByWord.find(([pattern]) => pattern.test(word));
    if (found !== undefined) return { code: found[1] };
  }
  return undefined;
}

function classifyFailure(facts: ErrorFacts): ErrorVerdict {
  if (isAbout(facts, abortWords, abortText)) return { code: "network", retryable: false };
  if (isAbout(facts, networkWords, networkText)) return { code: "network" };
  if (facts.words.has("syntaxerror")) return { code: "server" };
  return { code: "server", retryable: false };
}

function isAbout({ words, messages }: ErrorFacts, word: RegExp, text: RegExp): boolean {
  return [...words].some((candidate) => word.test(candidate)) || messages.some((message) => text.test(message));
}

/**
 * Classifies an error by its HTTP status. Some statuses are not obvious:
 *
 * - 402: the balance or the quota is used up.
 * - 408: the server saw a network failure.
 * - 409: a lock timed out. The openai SDK retries it too.
 * - 413: the request is too large. A request with fewer messages may succeed.
 * - 498 from Groq and 529 from Anthropic: the service is overloaded.
 */
function judgeStatus(status: number | undefined): ErrorVerdict | undefined {
  if (status === undefined || status < 400) return undefined;
  if (status === 402) return { code: "rate-limit", retryable: false };
  return { code: codeByStatus[status] ?? (status >= 500 ? "server" : "bad-request") };
}

const codeByStatus: { readonly [status: number]: ProviderErrorCode } = {
  401: "auth",
  403: "auth",
  407: "auth",
  408: "network",
  409: "server",
  413: "context-too-long",
  429: "rate-limit",
  498: "overloaded",
  503: "overloaded",
  529: "overloaded",
};

/**
 * Error types used by OpenAI, Anthropic, Google, OpenRouter and Bedrock, in lower case. They matter in streams, which keep the status 200
 * when they fail.
 */
const codeByWord: readonly (readonly [RegExp, ProviderErrorCode])[] = [
  [/^(?:resource_exhausted|too_many_requests)$/, "rate-limit"],
  [/^(?:overloaded|provider_unavailable|serviceunavailableexception|modelnotreadyexception)$/, "overloaded"],
  [/^(?:slow_down|unavailable|service_unavailable)$/, "overloaded"],
  [/^(?:authentication_error|permission_error|invalid_api_key|unauthenticated|permission_denied)$/, "auth"],
  [/^(?:authentication|accessdeniedexception)$/, "auth"],
  [/^(?:invalid_request(?:_error)?|not_found_error|validationexception|badrequesterror)$/, "bad-request"],
  [/^(?:invalid_argument|invalid_prompt|failed_precondition|not_found)$/, "bad-request"],
  [/^(?:(?:internal_)?server_error|api_error|timeout_error|timeout|vector_store_timeout)$/, "server"],
  [/^(?:internalserverexception|modelstreamerrorexception|deadline_exceeded|internal)$/, "server"],
];

const abortWords = /^(?:aborterror|apiuseraborterror|err_aborted)$/;
const abortText = /^(?:request was aborted\.?|this operation was aborted\.?)$/i;

const networkWords =
  /^(?:apiconnectionerror|apiconnectiontimeouterror|timeouterror|e(?:conn(?:reset|refused|aborted)|notfound|ai_again|timedout|pipe|host(?:unreach|down)|net(?:unreach|down|reset))|und_err_\w+|err_stream_premature_close|err_http2_\w+|err_ssl_\w+|connection(?:refused|closed|reset|timeout))$/;
/**
 * Matches messages about failed connections from `fetch` in Node, Chromium, Firefox, Safari, Bun, Deno and Cloudflare Workers
 * (github.com/cloudflare/workers-sdk/issues/13306), from the provider SDKs, and from OpenRouter
 * (github.com/earendil-works/pi/issues/3317).
 */
const networkText =
  /^(?:terminated|fetch failed|failed to fetch|load failed|network ?error.*|.{0,12}connection (?:was )?(?:error.?|lost.?|closed.*)|request timed out\.?|premature close|socket hang up|other side closed|error sending request.*|incomplete json segment at the end)$/i;
