// Removes credentials from text, URLs and data, in time proportional to the text's length. To keep it that fast, a pattern that can match
// anywhere must consume what it reads, or read a limited number of characters.

import { looksRandom, namesSecret, namesSecretInText, redactFields } from "./redact-fields.ts";
import { redacted } from "./edges.ts";
import { takeStart } from "./texts.ts";
import type { Json } from "../core/types/common.ts";

type Replace = string | ((match: string, ...groups: string[]) => string);

/** Redacts a match only if it contains a digit, so that words such as "sk-learn-pipeline" are kept. */
const withDigit = (match: string): string => (/\d/.test(match) ? redacted : match);

/** Patterns for keys with a known prefix. */
function makePrefixed(): readonly (readonly [pattern: RegExp, replace: Replace])[] {
  /** Matches the beginning of a word, even after a character that is encoded for a URL or for JSON. */
  const start = String.raw`(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}|\\[bfnrt]|\\u[0-9A-Fa-f]{4}))`;
  const prefixes: readonly (readonly [pattern: string, replace: Replace])[] = [
    [String.raw`(?:sk|pk|rk)[-_][\w-]{8,}`, withDigit],
    [
      String.raw`(?:gsk|hf|r8|npm|gh[oprsu]|github_pat|tgp_v1|lsv2|do[opr]_v1|shp(?:at|ss|ca|pa)|whsec|rzp_live|ntn|lin_api|figd|ph[cx]|pcsk|sbp|sntry[su]|dckr_pat|secret)_[\w-]{16,}`,
      withDigit,
    ],
    [
      String.raw`(?:csk|xai|pplx|nvapi|gl(?:pat|ptt|dt|rt|soat)|pypi|tvly|NRAK|GOCSPX|xapp|sq0(?:atp|csp)|r8|hf|gsk)-[\w-]{16,}`,
      withDigit,
    ],
    [
      String.raw`key-[0-9a-f]{32}\b|dapi[0-9a-f]{32}|SK[0-9a-f]{32}\b|[0-9a-f]{32}-us\d{1,2}\b|SG\.[\w-]{16,}\.[\w-]{16,}`,
      redacted,
    ],
    [
      String.raw`xox[a-z](?:[-.]\w)?-[\w-]{8,}|AIza[\w-]{20,}|(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b|ya29\.[\w-]{8,}|1\/\/0[\w-]{20,}`,
      redacted,
    ],
    [
      String.raw`ABSK[\w+/=-]{30,}|bedrock-api-key-[\w+/=-]{16,}|hvs\.[\w-]{20,}|AGE-SECRET-KEY-1[A-Z0-9]{20,}|ATATT3x[\w=-]{20,}|[\w.~-]{3}\dQ~[\w.~-]{30,}`,
      redacted,
    ],
    [String.raw`(bot)?\d{8,10}:AA[\w-]{30,}`, `$1${redacted}`],
    [String.raw`AQ\.[\w-]{20,}`, withDigit],
    [String.raw`(?:pa-|fw_|vck_)[\w-]{16,}`, (match) => (isMixed(match) ? redacted : match)],
    [String.raw`(hooks\.slack\.com\/(?:services|workflows)\/|discord(?:app)?\.com\/api\/webhooks\/)[\w/-]{8,}`, `$1${redacted}`],
  ];
  return prefixes.map(([pattern, replace]) => [new RegExp(`${start}(?:${pattern})`, "g"), replace] as const);
}

/** The patterns for credentials. Each is applied to the whole text, in this order. */
const credentials: readonly (readonly [pattern: RegExp, replace: Replace])[] = /* @__PURE__ */ (() => [
  // Matches `fetch`'s error about an invalid header value, which quotes the value, for example a key with a line break.
  [/(Headers\.\w{1,20}: )[\s\S]*?(?= is an? invalid header|$)/g, `$1${redacted}`],
  [
    /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g,
    redacted,
  ],
  // Matches a private key that lacks the "BEGIN PRIVATE KEY" line.
  [/(?<![\w+/])MI[IG][\w+/]{40,}(?:(?:\s|\\n){1,4}[\w+/=]{16,})*/g, redacted],
  [/:\/\/[^\s"'<>`]+|%3A%2F%2F[^\s"'<>`&]+/gi, redactWholeUrl],
  ...makePrefixed(),
  // Matches a whole chain of words joined by dots, so that each word is read only once. A web token may begin in the middle of the match.
  [/(?<![\w-])[\w-]{11,}\.[\w-]{8,}(?:\.[\w-]*)*/g, redactWebToken],
  // Does not match an ordinary word, as in "Basic authentication failed".
  [/\b(bearer|basic)(\s{1,4}|%20)(?![a-z]{1,24}(?![\w.~+/=-]))[\w.~+/=-]{8,}/gi, `$1$2${redacted}`],
  [/(<([\w:.-]{1,64})>)[^<]{4,}(?=<\/)/g, ifSecret],
  [/((?<!\S)--([\w-]{1,64})[ \t]{1,4})(?!-)[^\s"']{4,}/g, ifSecret],
  [/((["'])([\w-]{2,64})\2,\s{0,4}\2)[^"']{8,}(?=["'])/g, redactPair],
  [/((?<!\S)(?:-u|--user)[ =]{1,2}[^\s:]{1,64}:)\S{2,}/g, `$1${redacted}`],
  [/((?<=\bcurl\b[^\r\n]{0,200}\s)-u[^\s:=]{1,64}:)\S{2,}/g, `$1${redacted}`],
  [/((?:(?<![\w-])[\w-]{1,32}[ \t]{1,4}){1,2}(?:is|was)[ \t]{1,4}["'`]?)([^\s"'`,;<>()]{7,200}[^\s"'`,;<>().!?])/g, redactSaid],
  [/((?:[?&]|%3F|%26)key(?:=|%3D))[^\s&"'%]{4,}/gi, `$1${redacted}`],
  [/([?&]code=)[\w.~%/-]{20,}/g, `$1${redacted}`],
])();

/** Matches an AWS secret key. Some hashes look the same, so it is replaced only in text that mentions AWS. */
const awsSecret = /(?<![\w/+=-])[A-Za-z0-9/+]{40}(?![\w/+=-])/g;

/**
 * Removes credentials from a string: vendor keys, bearer tokens, JSON web tokens, private keys and passwords in URLs. Also removes
 * the values of fields, headers, variables and query parameters whose names suggest a secret. These values are found even if they are
 * percent-encoded or inside a JSON string. The result may be logged or shown.
 *
 * @example redactSecrets("Incorrect API key provided: sk-abc123def456"); // "Incorrect API key provided: [redacted]"
 */
export function redactSecrets(text: string): string {
  let clean = text;
  for (const [pattern, replace] of credentials) {
    clean = typeof replace === "string" ? clean.replace(pattern, replace) : clean.replace(pattern, replace);
  }
  if (/AKIA|ASIA|aws/i.test(text)) clean = clean.replace(awsSecret, (match) => (isMixed(match) ? redacted : match));
  return redactFields(clean);
}

/**
 * Removes credentials, and cuts the text to at most `longest` UTF-16 code units without splitting a character. Appends `ending` if the text
 * was cut. Cuts twice: before the redaction, to limit the time for long text, and after it, because a replacement may be longer than the
 * secret.
 */
export function redactText(text: string, longest: number, ending = "…"): string {
  const clean = redactSecrets(text.length > 2 * longest ? takeStart(text, endOfWord(text, 2 * longest)) : text);
  if (text.length <= 2 * longest && clean.length <= longest) return clean;
  return takeStart(clean, longest) + ending;
}

/**
 * Returns where to cut a string. Omits the last word unless it is very long, because a credential that is cut in two might not be
 * recognized.
 */
function endOfWord(text: string, most: number): number {
  const last = text.slice(most - most / 4, most);
  const blank = Math.max(last.lastIndexOf(" "), last.lastIndexOf("\n"));
  return blank === -1 ? most : most - last.length + blank;
}

/** Redacts a JSON web token: base64 parts joined by dots, the first of which decodes to text that begins with {". */
function redactWebToken(match: string): string {
  let from = 0;
  const parts = match.split(".");
  for (const [index, part] of parts.entries()) {
    const at = part.indexOf("eyJ");
    const isToken = at !== -1 && part.length - at >= 11 && (parts[index + 1] ?? "").length >= 8;
    if (isToken) {
      const isDot = match.endsWith(".");
      return match.slice(0, from + at) + redacted + (isDot ? "." : "");
    }
    from += part.length + 1;
  }
  return match;
}

/**
 * Redacts the second string in a pair if the first string names a secret. Node prints lists of headers as pairs of quoted
 * strings.
 */
function redactPair(match: string, ...groups: string[]): string {
  const { 0: lead, 2: name } = groups;
  return ifSecret(match, lead, name);
}

/** Redacts the value in sentences such as "Your API key is …". */
function redactSaid(match: string, lead = "", value = ""): string {
  const name = lead.replace(/\s+(?:is|was)\s+["'`]?$/, "");
  return namesSecretInText(name, false) && looksRandom(value) ? lead + redacted : match;
}

function ifSecret(match: string, lead = "", name = ""): string {
  return namesSecretInText(name, true) ? lead + redacted : match;
}

function isMixed(text: string): boolean {
  return /[a-z]/.test(text) && /[A-Z]/.test(text) && /\d/.test(text);
}

/** Redacts the password in a URL. `match` begins with "://" or "%3A%2F%2F". A percent-encoded URL with a password is returned decoded. */
function redactWholeUrl(match: string): string {
  if (match.startsWith(":")) return redactUrl(match);
  const decoded = match.replace(/%(?:3A|2F|40|3F)/gi, decodeURIComponent);
  const clean = redactUrl(decoded);
  return clean === decoded ? match : clean;
}

const delimiter = /[:/?#@]/g;

/** Matches a port number, which looks like a password after a user name. */
const port = /:\d{0,5}(?=[/?#]|$)/y;

const ipv6 = /\[[^\]@/]{0,64}\]/y;

function redactUrl(url: string): string {
  const last = url.lastIndexOf("@");
  let clean = "";
  let kept = 0;
  // Continues after the first match, because a parameter may contain another URL.
  for (let at = url.indexOf("://"); at !== -1 && at < last; at = url.indexOf("://", Math.max(kept, at + 3))) {
    const from = at + 3;
    const end = findEnd(url, from, last);
    if (end === undefined) continue;
    clean += url.slice(kept, from) + redacted;
    kept = end;
  }
  return clean + url.slice(kept);
}

/**
 * Returns the end of the user name and password, or undefined if the URL has neither. After a colon, the end is the last "@",
 * because a password may contain "@".
 */
function findEnd(url: string, from: number, last: number): number | undefined {
  ipv6.lastIndex = from;
  delimiter.lastIndex = ipv6.test(url) ? ipv6.lastIndex : from;
  const found = delimiter.exec(url);
  if (found === null) return undefined;
  if (found[0] === "@") return found.index > from ? found.index : undefined;
  port.lastIndex = found.index;
  return found[0] === ":" && !port.test(url) ? last : undefined;
}

const maxTextLength = 500;
const maxKeyLength = 100;
const maxItems = 50;
const maxValues = 500;
const deepestLevel = 8;

/**
 * Copies plain data for display. The value of a key such as "password", "apiKey" or "Set-Cookie" becomes "[redacted]", regardless of its
 * case and separators. Credentials in strings are removed too.
 *
 * Limits the copy to 8 levels and 500 values, strings to 500 UTF-16 code units, keys to 100 code units, and arrays and objects to 50 items.
 * Omitted parts appear as "…". A key "__proto__" is copied like any other key.
 *
 * @example redactJson({ city: "Oslo", "x-api-key": "abc" }) // { city: "Oslo", "x-api-key": "[redacted]" }
 */
export function redactJson(value: Json): Json {
  return redactValue(value, 0, { valuesLeft: maxValues });
}

interface Bounds {
  valuesLeft: number;
}

function redactValue(value: Json, depth: number, bounds: Bounds): Json {
  bounds.valuesLeft -= 1;
  if (typeof value === "string") return redactText(value, maxTextLength);
  if (typeof value !== "object" || value === null) return value;
  if (depth === deepestLevel) return "…";
  return isArray(value) ? redactArray(value, depth, bounds) : redactRecord(value, depth, bounds);
}

function redactArray(values: readonly Json[], depth: number, bounds: Bounds): Json {
  const copy: Json[] = [];
  for (const value of values) {
    if (copy.length === maxItems || bounds.valuesLeft <= 0) return [...copy, "…"];
    copy.push(redactValue(value, depth + 1, bounds));
  }
  return copy;
}

function redactRecord(record: { readonly [key: string]: Json | undefined }, depth: number, bounds: Bounds): Json {
  const fields: [key: string, value: Json][] = [];
  for (const [key, value] of Object.entries(record)) {
    if (value === undefined) continue;
    if (fields.length === maxItems || bounds.valuesLeft <= 0) {
      fields.push(["…", "…"]);
      break;
    }
    fields.push([redactText(key, maxKeyLength), redactValue(namesSecret(key) ? redacted : value, depth + 1, bounds)]);
  }
  // `fromEntries` treats "__proto__" as an ordinary key, whereas an assignment would set the prototype.
  return Object.fromEntries(fields);
}

/** Works like `Array.isArray`, but also narrows read-only arrays. */
function isArray(value: object): value is readonly Json[] {
  return Array.isArray(value);
}
