// Reads errors from any SDK. Any field may be missing, have an unexpected type, or be a getter that throws.

import { isRecord, type UnknownRecord } from "../guards.ts";
import { cutText } from "../texts.ts";
import { type BodyFacts, noteStatus, noteWords, pageTitle, parseBody, readReason } from "./error-body.ts";
import { headerOf, readRetryAfter, readResetTime, readWait } from "./retry-times.ts";

export interface ErrorFacts {
  /** The service's reason, or else the error's message. It may contain credentials. */
  readonly message: string;
  readonly status: number | undefined;
  /** All codes, types and names of the error, its causes and its response body, in lower case. */
  readonly words: ReadonlySet<string>;
  /** The status and error codes of another service's error that this service passed on. */
  readonly upstream: BodyFacts["upstream"];
  readonly messages: readonly string[];
  readonly retryAfterMs: number | undefined;
  readonly shouldRetry: boolean | undefined;
}

const deepest = 4;

/** The maximum number of characters in a message to search for known phrases. A JSON body in a message is always parsed completely. */
const maxReadLength = 10_000;

interface Draft extends BodyFacts {
  headers: unknown;
  reason: string | undefined;
}

/** Response bodies of errors whose SDK drops the body. */
const bodies = new WeakMap<object, unknown>();

/** Remembers an error's response body, because some SDKs drop parts of it. */
export function keepBody(error: unknown, body: unknown): void {
  if (isRecord(error) && body !== undefined) bodies.set(error, body);
}

export function readErrorFacts(thrown: unknown): ErrorFacts {
  const draft: Draft = {
    own: { status: undefined, words: new Set() },
    upstream: { status: undefined, words: new Set() },
    messages: [],
    retryDelayMs: undefined,
    headers: undefined,
    reason: undefined,
  };
  if (isRecord(thrown)) readError(thrown, draft, 0);
  else draft.messages.push(cutText(String(thrown), maxReadLength));
  const { own, upstream, messages, headers, reason, retryDelayMs } = draft;
  const { status } = own;
  const errorType = /^(?:.*#)?([\w.]+)/.exec(headerOf(headers, "x-amzn-errortype") ?? "")?.[1];
  if (errorType !== undefined) own.words.add(errorType.toLowerCase());
  const resetMs = status === 429 ? readResetTime(headers) : undefined;
  return {
    message: reason ?? explainSilence(messages[0] ?? [...own.words][0], status),
    status,
    words: new Set([...upstream.words, ...own.words]),
    upstream,
    messages,
    retryAfterMs: readRetryAfter(headers) ?? resetMs ?? retryDelayMs ?? readWait(messages),
    shouldRetry: readShouldRetry(headers),
  };
}

/** Reads the error, its response body and its cause, in this order. Keeps the first status and the first headers. */
function readError(error: UnknownRecord, draft: Draft, depth: number): void {
  noteWords(error, draft.own);
  readResponse(error, draft);
  const message = typeof error.message === "string" ? error.message : undefined;
  if (message !== undefined) draft.messages.push(cutText(message, maxReadLength));
  const place = { facts: draft, level: draft.own, depth: 0 };
  // In a stream, the error may itself be the inner object of a body, so it is read too.
  const values = [bodies.get(error) ?? error.error, parseBody(message ?? ""), error];
  draft.reason =
    values.reduce<string | undefined>((found, value) => found ?? readReason(value, place), undefined) ?? draft.reason;
  noteStatus(error.code, draft.own);
  const cause: unknown = error.cause ?? (Array.isArray(error.errors) ? error.errors[0] : undefined);
  if (isRecord(cause) && depth < deepest) readError(cause, draft, depth + 1);
}

/** Reads the status and the headers. SDKs put them on the error under different names, or on its `response`. */
function readResponse(error: UnknownRecord, draft: Draft): void {
  const response: UnknownRecord = isRecord(error.response) ? error.response : {};
  draft.headers ??= error.headers ?? error.responseHeaders ?? response.headers;
  for (const status of [error.status, error.statusCode, response.status]) noteStatus(status, draft.own);
}

/**
 * Rewrites messages from the OpenAI and Anthropic SDKs, which write "413 status code (no body)" for an empty body, and put the status
 * before other text.
 */
function explainSilence(message: string | undefined, status: number | undefined): string {
  const said = message?.replace(/^\d{3} /, (number) => (Number(number) === status ? "" : number)).trim();
  if (said !== undefined && said !== "" && !/^\(?(?:no )?status code (?:or body\)|\(no body\))$/.test(said))
    return pageTitle(said);
  return status === undefined
    ? "The error has no message."
    : `The service answered with the status ${status} and gave no reason.`;
}

function readShouldRetry(headers: unknown): boolean | undefined {
  const said = headerOf(headers, "x-should-retry");
  return said === "true" ? true : said === "false" ? false : undefined;
}
