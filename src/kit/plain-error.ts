// Errors as plain data, with what must not leave the process taken out.

import type { PlainError } from "../contract/plain-error.ts";
import { isRecord } from "./is-record.ts";

const longestMessage = 2_000;
const deepestCause = 3;
const redacted = "[redacted]";

/**
 * What looks like a credential, and what takes its place. Every repetition that may fail has an upper bound, so that a hostile
 * text costs time in proportion to its length.
 */
const credentials: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, redacted],
  // Keys with their issuer's prefix. A digit tells them from words such as "sk-learn-pipeline".
  [/\b(?:sk|pk|rk)[-_](?=[\w-]{0,128}\d)[\w-]{8,}/g, redacted],
  [/\b(?:gsk|csk|xai|pplx|nvapi|hf|r8|npm|glpat|gh[oprsu]|github_pat|tgp_v1)[-_](?=[\w-]{0,128}\d)[\w-]{16,}/g, redacted],
  [/\bkey-[0-9a-f]{32}\b|\bxox[abeoprs]-[\w-]{8,}|\bAIza[\w-]{20,}|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b|\bya29\.[\w-]{8,}/g, redacted],
  [/\beyJ[\w-]{8,1024}\.[\w-]{8,4096}(?:\.[\w-]{0,4096})?/g, redacted],
  // After a scheme anything goes, but for a plain word: "Basic authentication failed".
  [/\b([Bb]earer|BEARER|[Bb]asic)\s{1,4}(?![a-z]{1,24}(?![\w.~+/=-]))[\w.~+/=-]{8,}/g, `$1 ${redacted}`],
  [/(:\/\/)[^\s/@]+(?=@)/g, `$1${redacted}`],
  // By the name of the field, the header or the query parameter that holds it.
  [/("[\w-]{0,32}(?:api[-_]?key|token|secret|password|passwd|authorization)"\s{0,4}:\s{0,4}")[^"]{4,}/gi, `$1${redacted}`],
  [/\b((?:x-)?api-key|authorization)(\s{0,4}:\s{0,4})(?!Bearer\b|Basic\b)[^\s"',;]{8,}/gi, `$1$2${redacted}`],
  [/\b([\w-]{0,32}(?:api[-_]?key|token|secret|password|passwd)=)[^\s&"',;]{4,}/gi, `$1${redacted}`],
  [/([?&](?:key|sig|signature)=)[^\s&"']{4,}/gi, `$1${redacted}`],
];

/**
 * Takes out of a text what looks like a credential: vendor keys, bearer tokens, JSON web tokens, private keys, passwords in
 * URLs, and the values of fields named so. What is left may be logged or shown.
 *
 * @example redactSecrets("Incorrect API key provided: sk-abc123def456"); // "Incorrect API key provided: [redacted]"
 */
export function redactSecrets(text: string): string {
  let clean = text;
  for (const [pattern, replacement] of credentials) clean = clean.replace(pattern, replacement);
  return clean;
}

/**
 * Makes plain data of anything thrown, and never throws itself. Non-errors keep their text; stacks and all other fields are
 * dropped; messages are cut to 2,000 characters and freed of credentials; causes go three deep, and of an AggregateError the
 * first error stands for the cause.
 *
 * @example toPlainError(new Error("no", { cause: "later" })); // { name: "Error", message: "no", cause: { name: "Error", message: "later" } }
 */
export function toPlainError(thrown: unknown): PlainError {
  return toPlain(thrown, 0);
}

function toPlain(thrown: unknown, depth: number): PlainError {
  const { name, message, code, cause } = factsOf(thrown);
  return {
    name,
    message: tidy(message),
    ...(code === undefined ? {} : { code }),
    ...(cause === undefined || cause === null || depth >= deepestCause ? {} : { cause: toPlain(cause, depth + 1) }),
  };
}

/** Cut twice: first to bound the work, at the end because a replacement may be longer. A cut must not leave half a character. */
function tidy(message: string): string {
  return redactSecrets(message.slice(0, 2 * longestMessage))
    .slice(0, longestMessage)
    .replace(/[\ud800-\udbff]$/, "");
}

interface Facts {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly cause?: unknown;
}

/** Reads what an error says; a getter that throws is an error of its own. */
function factsOf(thrown: unknown): Facts {
  try {
    if (!isRecord(thrown)) return { name: "Error", message: String(thrown) };
    const { name, message, code, cause, errors } = thrown;
    return {
      name: typeof name === "string" ? tidy(name) : "Error",
      message: typeof message === "string" ? message : (JSON.stringify(thrown) ?? "unknown"),
      code: typeof code === "string" ? tidy(code) : undefined,
      cause: cause ?? (Array.isArray(errors) ? errors[0] : undefined),
    };
  } catch {
    return { name: "Error", message: "an error that cannot be read" };
  }
}
