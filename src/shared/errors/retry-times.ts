// Reads how long a service asks to wait, from headers, error details and messages. Times are in milliseconds.

import { isRecord, type UnknownRecord } from "../guards.ts";
import { listOf, recordOf, textOf } from "../plain-error.ts";

/**
 * Reads `retry-after-ms`, or else `retry-after`, which is a number of seconds or a date. A date is compared with the `date`
 * header. Returns milliseconds.
 */
export function readRetryAfter(headers: unknown): number | undefined {
  const ms = toNumber(headerOf(headers, "retry-after-ms"));
  if (ms !== undefined) return ms;
  const after = headerOf(headers, "retry-after");
  const seconds = toNumber(after);
  if (seconds !== undefined) return seconds * 1_000;
  const until = toDate(after);
  return until === undefined ? undefined : Math.max(0, until - (toDate(headerOf(headers, "date")) ?? Date.now()));
}

/**
 * Reads the headers `x-ratelimit-reset-requests` and `x-ratelimit-reset-tokens` from OpenAI and Groq, for example "2m59.56s". Ignores a
 * limit that is not used up, because its time only says when the whole limit is available again.
 */
export function readResetTime(headers: unknown): number | undefined {
  const times = ["requests", "tokens"].flatMap((name) => {
    if ((toNumber(headerOf(headers, `x-ratelimit-remaining-${name}`)) ?? 0) > 0) return [];
    return toMs(headerOf(headers, `x-ratelimit-reset-${name}`) ?? "") ?? [];
  });
  return times.length === 0 ? undefined : Math.max(...times);
}

/** Reads `{ retryDelay: "34s" }`, which Google puts into error details. */
export function readRetryDelay(details: unknown): number | undefined {
  const info = listOf(details).find((detail) => typeof recordOf(detail).retryDelay === "string");
  return toMs(textOf(recordOf(info).retryDelay));
}

/**
 * Reads the time to wait from a body that Codex sends, for example `{ resets_in_seconds: 529498, resets_at: 1772180859 }`. `resets_at` is a
 * time in seconds since 1970 (github.com/router-for-me/CLIProxyAPI/issues/1666). `headers` are those that OpenRouter puts into the
 * body, for example `{ "X-RateLimit-Reset": "1741305600000" }`, which is in milliseconds (github.com/dirge-code/dirge/pull/719).
 * Returns milliseconds.
 */
export function readReset({ resets_in_seconds: seconds, resets_at: at }: UnknownRecord, headers: unknown): number | undefined {
  if (typeof seconds === "number" && seconds >= 0) return seconds * 1_000;
  const atMs = typeof at === "number" ? at * 1_000 : toNumber(headerOf(headers, "x-ratelimit-reset"));
  return atMs && Math.max(0, atMs - Date.now());
}

/**
 * Matches the time in "Please try again in 6.379s" (OpenAI, Groq), "Please retry after 20 seconds" (Azure) and "Please retry in 38.2s"
 * (Gemini).
 */
const wait =
  /(?:try(?:ing)? again|retry(?:ing)?|resets?|available|wait|retry[_-]?delay\W{1,5}|retry[_-]after\W{1,5})(?: (?:your request|the request|it))?(?: (?:in|after|for))?(?: about| approximately)? {0,2}((?:\d{1,9}(?:\.\d{1,20})? ?(?:ms|milliseconds?|h|hours?|m|mins?|minutes?|s|secs?|seconds?)(?![a-z]) ?)+)/i;

/** Returns the first waiting time mentioned in a message. */
export function readWait(messages: readonly string[]): number | undefined {
  for (const message of messages) {
    const found = toMs(wait.exec(message)?.[1] ?? "");
    if (found !== undefined) return found;
  }
  return undefined;
}

const units: { readonly [letter: string]: number } = { h: 3_600_000, m: 60_000, s: 1_000 };

/** Converts a duration such as "1m2.5s", "564ms" or "17 seconds" to milliseconds. */
function toMs(text: string): number | undefined {
  const parts = [...text.trim().matchAll(/(\d{1,15}(?:\.\d{1,20})?) ?(ms|mil|[hms])[a-z]* ?/gi)];
  if (parts.length === 0 || parts.map(([part]) => part).join("") !== text.trim()) return undefined;
  const sum = parts.reduce((total, [, count, unit = ""]) => total + Number(count) * (units[unit.toLowerCase()] ?? 1), 0);
  return Math.ceil(sum);
}

/** Reads the first number. A header that was sent several times contains a list separated by commas. */
function toNumber(header: string | undefined): number | undefined {
  const digits = /^\s*(\d+(?:\.\d+)?)\s*(?:,|$)/.exec(header ?? "")?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Reads a date. Refuses numbers, because `Date.parse` would read "-5" as a day in May. */
function toDate(header: string | undefined): number | undefined {
  const date = Date.parse(/^\s*([A-Z][a-z]{2,8},? [^,]{10,30})/.exec(header ?? "")?.[1] ?? "");
  return Number.isNaN(date) ? undefined : date;
}

export function headerOf(headers: unknown, name: string): string | undefined {
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
