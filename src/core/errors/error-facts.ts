// Reads the error of any SDK: status, codes, the message of the service, the time to wait. Any field may be missing, of another
// type, or a getter that throws.

import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { parseJson } from "../utils/json.ts";
import { listOf, recordOf } from "../utils/plain-error.ts";
import { cutText } from "../utils/texts.ts";

/** The facts of one error. */
export interface ErrorFacts {
  /** The message of the service, else that of the error. It may still contain credentials. */
  readonly message: string;
  /** HTTP status. */
  readonly status: number | undefined;
  /** All codes, types and names in the error, its causes and its body, in lower case. */
  readonly words: ReadonlySet<string>;
  /** All messages in the error, its causes and its body, outermost first. */
  readonly messages: readonly string[];
  readonly retryAfterMs: number | undefined;
  /** True or false if the service allows or forbids a retry (header `x-should-retry`, sent by OpenAI and Anthropic). */
  readonly shouldRetry: boolean | undefined;
}

const deepest = 4;

/** Longest part of a message that is read to classify it. A body after a status in a message is read completely. */
const longestRead = 10_000;

interface Draft {
  status: number | undefined;
  headers: unknown;
  retryDelayMs: number | undefined;
  readonly words: Set<string>;
  readonly messages: string[];
  /** The innermost message of an error body. */
  said: string | undefined;
}

/** Reads an error of any kind. Throws only if a getter of the error throws. */
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
    message: pageTitle(said ?? messages[0] ?? "An error without a message."),
    status,
    words,
    messages,
    retryAfterMs: readRetryAfter(headers) ?? draft.retryDelayMs,
    shouldRetry: readShouldRetry(headers),
  };
}

/** Reads an error, then its body, then its causes. Earlier facts take precedence. */
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

/** Reads status and headers. SDKs put them on the error, under different names, or on its response. */
function readResponse(error: UnknownRecord, draft: Draft): void {
  const response: UnknownRecord = isRecord(error.response) ? error.response : {};
  draft.headers ??= error.headers ?? error.responseHeaders ?? response.headers;
  draft.status ??= toStatus(error.status) ?? toStatus(error.statusCode) ?? toStatus(response.status);
}

/** Reads a response body: `{ error: { message, type, code } }`, the inner object alone, or an array with one such object. */
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

/** A class that does not set `name`, such as those of openai, is identified by its constructor. */
function readWords({ name, code, type, status, constructor }: UnknownRecord, { words }: Draft): void {
  const className = name === "Error" && typeof constructor === "function" ? constructor.name : undefined;
  for (const word of [name, code, type, status, className]) if (typeof word === "string") words.add(word.toLowerCase());
}

/**
 * Finds the body in a message. Several SDKs put it there, with or without the status before it: `429 {…}`, `got status:
 * UNAVAILABLE. {…}`.
 */
function parseBody(message: string): unknown {
  const start = /^(?:\d{3}\s{1,4}|got status: \w{1,64}\. )?(?=[{[])/.exec(message)?.[0].length;
  if (start === undefined) return undefined;
  const text = message.slice(start);
  return parseJson(text) ?? readCutBody(text);
}

/** Reads the fields of a truncated body. Those of the innermost object come last. */
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

/** Shortens the HTML error page of a proxy to its title. */
function pageTitle(message: string): string {
  if (!/<(?:!doctype|html|head|body)\b/i.test(message)) return message;
  const title = /<title[^>]{0,100}>\s{0,100}([^<]{1,200})/i.exec(message)?.[1]?.trim();
  return title === undefined || title === "" ? "The server sent an HTML page." : `The server sent an HTML page: ${title}`;
}

/** Reads `retry-after-ms`, else `retry-after` in seconds or as a date. A date is compared with the `date` header of the server. */
function readRetryAfter(headers: unknown): number | undefined {
  const ms = toNumber(headerOf(headers, "retry-after-ms"));
  if (ms !== undefined) return ms;
  const after = headerOf(headers, "retry-after");
  const seconds = toNumber(after);
  if (seconds !== undefined) return seconds * 1_000;
  const until = toDate(after);
  return until === undefined ? undefined : Math.max(0, until - (toDate(headerOf(headers, "date")) ?? Date.now()));
}

/** Reads the number at the start of a header. A header that was sent several times is a list. */
function toNumber(header: string | undefined): number | undefined {
  const digits = /^\s*(\d+(?:\.\d+)?(?:e\d+)?)\s*(?:,|$)/.exec(header ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Parses an HTTP date, in milliseconds. Date.parse alone accepts numbers: "-5" is a day in May. */
function toDate(header: string | undefined): number | undefined {
  const date = Date.parse(/^\s*([A-Z][a-z]{2,8},? [^,]{10,30})/.exec(header ?? "")?.[1] ?? "");
  return Number.isNaN(date) ? undefined : date;
}

/** Reads Google's RetryInfo, such as `{ retryDelay: "34s" }` in the details of an error body. */
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

/** Reads a header of a Headers object, a Map, or a plain object with keys in any case. Of several values it returns the first. */
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
