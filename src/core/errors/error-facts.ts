// Reads the errors of any SDK. Any field may be missing, have an unexpected type, or be a getter that throws.

import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { parseJson } from "../utils/json.ts";
import { listOf, recordOf } from "../utils/plain-error.ts";
import { cutText } from "../utils/texts.ts";

export interface ErrorFacts {
  /** The message from the service, otherwise the message of the error object. It may contain credentials. */
  readonly message: string;
  readonly status: number | undefined;
  /** All codes, types and names of the error, its causes and its response body, in lower case. */
  readonly words: ReadonlySet<string>;
  readonly messages: readonly string[];
  readonly retryAfterMs: number | undefined;
  readonly shouldRetry: boolean | undefined;
}

const deepest = 4;

/** Only this many characters of a message are searched for known phrases. A JSON body in a message is parsed completely. */
const longestRead = 10_000;

interface Draft {
  status: number | undefined;
  headers: unknown;
  retryDelayMs: number | undefined;
  readonly words: Set<string>;
  readonly messages: string[];
  said: string | undefined;
}

export function readErrorFacts(thrown: unknown): ErrorFacts {
  const draft: Draft = {
    status: undefined,
    headers: undefined,
    retryDelayMs: undefined,
    words: new Set(),
    messages: [],
    said: undefined,
  };
  if (isRecord(thrown)) readError(thrown, draft, 0);
  else draft.messages.push(cutText(String(thrown), longestRead));
  const { status, words, messages, headers, said } = draft;
  return {
    message: pageTitle(said ?? messages[0] ?? [...words][0] ?? "The error has no message."),
    status,
    words,
    messages,
    retryAfterMs: readRetryAfter(headers) ?? draft.retryDelayMs,
    shouldRetry: readShouldRetry(headers),
  };
}

/**
 * Reads the error, its response body and its cause, in this order. `status`, `headers` and `retryDelayMs` keep the first value
 * found. `said` gets the last text found in a body.
 */
function readError(error: UnknownRecord, draft: Draft, depth: number): void {
  readWords(error, draft);
  readResponse(error, draft);
  if (typeof error.message === "string") draft.messages.push(cutText(error.message, longestRead));
  readBody(error.error, draft, 0);
  if (typeof error.message === "string") readBody(parseBody(error.message), draft, 0);
  draft.status ??= toStatus(error.code);
  const cause: unknown = error.cause ?? (Array.isArray(error.errors) ? error.errors[0] : undefined);
  if (isRecord(cause) && depth < deepest) readError(cause, draft, depth + 1);
}

/** SDKs put the status and the headers on the error under different names, or on its `response`. */
function readResponse(error: UnknownRecord, draft: Draft): void {
  const response: UnknownRecord = isRecord(error.response) ? error.response : {};
  draft.headers ??= error.headers ?? error.responseHeaders ?? response.headers;
  draft.status ??= toStatus(error.status) ?? toStatus(error.statusCode) ?? toStatus(response.status);
}

/**
 * Reads a response body: `{ error: { message, type, code } }`, only the inner object, or an array with one of the two. A string
 * in place of the object is the message.
 */
function readBody(body: unknown, draft: Draft, depth: number): void {
  const fields: unknown = Array.isArray(body) ? body[0] : body;
  if (typeof fields === "string") return say(fields, draft);
  if (!isRecord(fields) || fields instanceof Error || depth > deepest) return;
  readWords(fields, draft);
  for (const text of [fields.detail, fields.message]) if (typeof text === "string") say(text, draft);
  for (const detail of listOf(fields.details)) readWords({ code: recordOf(detail).reason }, draft);
  draft.retryDelayMs ??= readRetryDelay(fields.details);
  readBody(fields.error, draft, depth + 1);
  draft.status ??= toStatus(fields.code) ?? toStatus(fields.status);
}

function say(text: string, draft: Draft): void {
  if (text.trim() === "") return;
  draft.said = cutText(text, longestRead);
  draft.messages.push(draft.said);
}

function readWords({ name, code, type, status, constructor }: UnknownRecord, { words }: Draft): void {
  const className = name === "Error" && typeof constructor === "function" ? constructor.name : undefined;
  for (const word of [name, code, type, status, className]) if (typeof word === "string") words.add(word.toLowerCase());
}

/**
 * Several SDKs write the response body into the message of an error, sometimes after the status: `429 {…}` or `got status:
 * UNAVAILABLE. {…}`.
 */
function parseBody(message: string): unknown {
  const start = /^(?:\d{3}\s{1,4}|got status: \w{1,64}\. )?(?=[{[])/.exec(message)?.[0].length;
  if (start === undefined) return undefined;
  const text = message.slice(start);
  return parseJson(text) ?? readCutBody(text);
}

function readCutBody(text: string): unknown {
  const fields: { [field: string]: unknown } = {};
  for (const [, field = "", value = ""] of text.slice(0, longestBody).matchAll(saidField)) fields[field] = parseJson(value);
  return fields;
}

const longestBody = 10_000;
const saidField = /"(message|type|code|status|reason)"\s{0,9}:\s{0,9}("(?:[^"\\]|\\.){0,2000}"|\d{1,9})/g;

function toStatus(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && Number.isInteger(status) && status >= 100 && status <= 599 ? status : undefined;
}

function pageTitle(message: string): string {
  if (!/<(?:!doctype|html|head|body)\b/i.test(message)) return message;
  const title = /<title[^>]{0,100}>\s{0,100}([^<]{1,200})/i.exec(message)?.[1]?.trim();
  return title === undefined || title === "" ? "The server sent an HTML page." : `The server sent an HTML page: ${title}`;
}

/**
 * Reads `retry-after-ms`, otherwise `retry-after`, which is a number of seconds or a date. A date is compared with the header
 * `date`. Returns milliseconds.
 */
function readRetryAfter(headers: unknown): number | undefined {
  const ms = toNumber(headerOf(headers, "retry-after-ms"));
  if (ms !== undefined) return ms;
  const after = headerOf(headers, "retry-after");
  const seconds = toNumber(after);
  if (seconds !== undefined) return seconds * 1_000;
  const until = toDate(after);
  return until === undefined ? undefined : Math.max(0, until - (toDate(headerOf(headers, "date")) ?? Date.now()));
}

/** Reads the first number, because a header that was sent several times has a list separated by commas. */
function toNumber(header: string | undefined): number | undefined {
  const digits = /^\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*(?:,|$)/.exec(header ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** `Date.parse` alone would accept numbers: it reads "-5" as a day in May. */
function toDate(header: string | undefined): number | undefined {
  const date = Date.parse(/^\s*([A-Z][a-z]{2,8},? [^,]{10,30})/.exec(header ?? "")?.[1] ?? "");
  return Number.isNaN(date) ? undefined : date;
}

/** Reads `{ retryDelay: "34s" }`, which Google puts into the details of an error. Returns milliseconds. */
function readRetryDelay(details: unknown): number | undefined {
  if (!Array.isArray(details)) return undefined;
  const info: unknown = details.find((detail: unknown) => isRecord(detail) && typeof detail.retryDelay === "string");
  const seconds = isRecord(info) ? /^(\d{1,9}(?:\.\d{1,9})?)s$/.exec(String(info.retryDelay))?.[1] : undefined;
  return seconds === undefined ? undefined : Number(seconds) * 1_000;
}

function readShouldRetry(headers: unknown): boolean | undefined {
  const said = headerOf(headers, "x-should-retry");
  return said === "true" ? true : said === "false" ? false : undefined;
}

function headerOf(headers: unknown, name: string): string | undefined {
  if (!isRecord(headers)) return undefined;
  const found: unknown =
    typeof headers.get === "function" ? Reflect.apply(headers.get, headers, [name]) : plainHeaderOf(headers, name);
  const value: unknown = Array.isArray(found) ? found[0] : found;
  return typeof value === "string" || typeof value === "number" ? String(value) : undefined;
}

function plainHeaderOf(headers: UnknownRecord, name: string): unknown {
  const key = Object.keys(headers).find((candidate) => candidate.toLowerCase() === name);
  return key === undefined ? undefined : headers[key];
}
