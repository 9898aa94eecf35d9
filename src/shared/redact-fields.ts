// Removes secrets that follow their name, as in JSON (even inside a JSON string), YAML, query strings, headers, environment variables and
// command-line options.

import { redacted } from "./edges.ts";

/** Creates the patterns for names of secrets. This is a function, because bundlers cannot drop a constant built by joining text. */
function makeNames(): { readonly ofFields: RegExp; readonly ofTexts: RegExp; readonly ofAssignments: RegExp } {
  const anywhere = [
    "passw(?:or)?d|passphrase|passcode|pwd|credential|authorization|cookie|secret(?!ar)|connectionstring|sessionid|bearer|jwt",
    "(?:api|access|private|signing|encryption|subscription|account|auth|master|functions|shared|storage|service|consumer|app)key|token$",
  ].join("|");
  // Words that must match the whole name, because they are too short to search for inside longer names.
  const whole = "auth|pass|pin|otp|mfa|cvv|cvc|ssn|sid";
  return {
    ofFields: new RegExp(`${anywhere}|^(?:${whole}|tokens)$`),
    ofTexts: new RegExp(anywhere),
    ofAssignments: new RegExp(`signature$|^(?:${whole}|sig)$`),
  };
}

const secretNames = /* @__PURE__ */ makeNames();

export function namesSecret(key: string): boolean {
  return secretNames.ofFields.test(squash(key));
}

/**
 * True for the name of a secret. `isAssigned` means that "=" or a quoted value follows. Only then do names such as "pin" match,
 * because they are ordinary words in prose.
 */
export function namesSecretInText(name: string, isAssigned: boolean): boolean {
  const squashed = squash(name);
  return secretNames.ofTexts.test(squashed) || (isAssigned && secretNames.ofAssignments.test(squashed));
}

function squash(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]/g, "");
}

/**
 * Matches a name, a separator, and optionally a list's opening bracket and the value's opening quote. Matches only
 * from the beginning of a name, so that a long name is read once.
 */
const field =
  /(?<![\w.-])([\w.-]+)(?:\\*["'`]|%22|&quot;)?\]?[ \t]{0,4}(=>|:=|[:=]|%3[AaDd]|\r?\n(?=[ \t]{0,8}\S{16}))\s{0,8}(?:(\[)\s{0,40}(?=\\*["'`]))?(\\*["'`]|%22|&quot;)?/g;

const bare = /(?:(?!%2[26]|&)[^\s"'`,;<>()[\]{}|\\])+/y;

/** Matches the authorization scheme of a header, which is not secret. The schemes in `longScheme` have several values. */
const scheme = /(?:bearer|basic|token|api-?key|negotiate|ntlm|key|ssws|sso-key)\s{1,4}/iy;
const anyScheme = /[A-Za-z][\w-]{1,31}[ \t]{1,4}/y;
const longScheme = /(?:digest|aws4-hmac-sha256|oauth|hawk|signature|googlelogin)\s{1,4}(?:=\\*"[^"\r\n]*"?|[^\r\n"'`])+/iy;

const cookies = /(?=[\w.-]{1,64}=[^\r\n]{4})(?:=\\*"[^"\r\n]*"?|[^\r\n"'`])+/y;

const nextItem = /\\*["'`]\s{0,8},\s{0,40}\\*["'`]/y;

/** Matches the beginning of a sentence or a path, neither of which is a secret. */
const proseItem = /[A-Za-z]?[a-z'’-]*[ \t]{1,4}[a-z'’-]+(?![\w=])|[/~]|[A-Za-z]:/y;

function makePaired(where: "before" | "after"): RegExp {
  const pairedName = String.raw`(?:name|key|field|header)(?:\\*["'])?\s{0,4}[:=]\s{0,4}\\*["']([\w.: -]{2,64})\\*["']`;
  return where === "before"
    ? new RegExp(String.raw`(?<![\w.-])${pairedName}[\s,]{1,40}(?:\\*["'])?$`, "i")
    : new RegExp(String.raw`\\*["'][\s,]{1,40}(?:\\*["'])?${pairedName}`, "iy");
}

const nameBefore = /* @__PURE__ */ makePaired("before");
const nameAfter = /* @__PURE__ */ makePaired("after");
const maxPairLength = 160;

const line = /\S{4,64}[ \t]{0,8}(?=\r?\n|$)/y;

/** The number of characters before a name to search for words that announce a secret, as in "Incorrect API key provided: …". */
const maxContextLength = 32;
const maxNameLength = 80;

/** Matches values that are not secret: placeholders, and descriptions of a problem with a secret. */
const notSecret =
  /^(?:true|false|null|nil|none|undefined|string|number|boolean|object|array|any|unknown|required|missing|expired|invalid|incorrect|wrong|empty|optional|denied|failed|rejected|hidden|masked|redacted|valid|set|unset|yes|no|ok|not|is|was|are|must|has|the|a|an)$/i;

const plainWord = /^[A-Za-z]?[a-z]*(?:[-'’][a-z]+)?[.!?:]*$/;

export function redactFields(text: string): string {
  let clean = "";
  let from = 0;
  field.lastIndex = 0;
  for (let match = field.exec(text); match !== null; match = field.exec(text)) {
    const { 1: name = "", 2: separator = "", 3: bracket, 4: quote } = match;
    const isList = bracket !== undefined;
    const value = readSecret(text, { name, nameAt: match.index, separator, isList, quote, at: field.lastIndex });
    if (value === undefined) continue;
    clean += text.slice(from, value.from) + redacted;
    from = value.to;
    field.lastIndex = Math.max(value.to, field.lastIndex);
  }
  return clean + text.slice(from);
}

interface Found {
  readonly name: string;
  readonly nameAt: number;
  readonly separator: string;
  readonly isList: boolean;
  readonly quote: string | undefined;
  readonly at: number;
}

interface Range {
  readonly from: number;
  readonly to: number;
}

function readSecret(text: string, found: Found): Range | undefined {
  const { name, nameAt, separator, isList, quote, at } = found;
  // Skips "Unexpected token: …", a parser's error message, where "token" is not a secret.
  if (/unexpected $/i.test(text.slice(Math.max(0, nameAt - 11), nameAt))) return undefined;
  const isAssigned = quote !== undefined || separator.includes("=") || /3d/i.test(separator);
  if (!namesSecretInText(name.slice(-maxNameLength), isAssigned)) {
    return isAssigned ? readPaired(text, found) : readAfterContext(text, found);
  }
  if (quote !== undefined) return isList ? readList(text, at, quote) : readQuoted(text, at, quote);
  if (separator.includes("\n")) return readBare(text, at, looksRandom);
  if (isAssigned) return readBare(text, at, isValue);
  return readHeader(text, name, at) ?? readBare(text, at, isLine(text, found) ? isValue : isNoProse);
}

/** True if a field is alone on its line in text with several lines, as in YAML. The value of such a field may be a plain word. */
function isLine(text: string, { nameAt, at }: Found): boolean {
  line.lastIndex = at;
  return line.test(text) && /(?:^|\n)[ \t-]{0,40}$/.test(text.slice(Math.max(0, nameAt - 41), nameAt)) && text.includes("\n");
}

/**
 * Returns the text up to the closing quote, which has as many backslashes as the opening quote. Without a closing quote,
 * returns the rest of the text.
 */
function readQuoted(text: string, from: number, quote: string): Range | undefined {
  const mark = quote.replace(/^\\+/, "");
  const escapes = quote.length - mark.length;
  let to = text.indexOf(mark, from);
  while (to !== -1 && !closes(text, to, escapes)) to = text.indexOf(mark, to + mark.length);
  const end = to === -1 ? text.length : to - escapes;
  return end - from < 4 ? undefined : { from, to: end };
}

/**
 * Returns the range of a list's items to redact, up to the first item that looks like a sentence. Validators list messages under a field's
 * name, and such messages are not secret.
 */
function readList(text: string, from: number, quote: string): Range | undefined {
  let to = from;
  for (let at: number | undefined = from; at !== undefined && matchAt(proseItem, text, at) === undefined;) {
    const item = readQuoted(text, at, quote);
    if (item === undefined || !isValue(text.slice(at, item.to))) break;
    to = item.to;
    const next = matchAt(nextItem, text, to);
    at = next?.startsWith(quote) === true && next.endsWith(quote) ? to + next.length : undefined;
  }
  return to === from ? undefined : { from, to };
}

function readAfterContext(text: string, { name, nameAt, at }: Found): Range | undefined {
  const context = text.slice(Math.max(0, nameAt - maxContextLength), nameAt) + name.slice(-maxNameLength);
  return namesSecretInText(context.replace(/^[\s\S]*[\n.:;,]/, ""), false) ? readBare(text, at, looksRandom) : undefined;
}

/** Returns the value in `{ "name": "api_key", "value": "…" }`: the name of the secret is in a field next to "value". */
function readPaired(text: string, { name: field, nameAt, quote, at }: Found): Range | undefined {
  if (quote === undefined || !/^value$/i.test(field)) return undefined;
  const before = nameBefore.exec(text.slice(Math.max(0, nameAt - maxPairLength), nameAt))?.[1];
  const value = readQuoted(text, at, quote);
  if (value === undefined) return undefined;
  nameAfter.lastIndex = value.to;
  const name = before ?? nameAfter.exec(text)?.[1];
  return name !== undefined && namesSecretInText(name, true) ? value : undefined;
}

/**
 * True if the quote at `at` closes the value. A quote that belongs to the value has more backslashes than the opening quote. Each
 * level of JSON inside a JSON string adds backslashes: an opening quote has 0, 1, 3 or 7.
 */
function closes(text: string, at: number, escapes: number): boolean {
  let run = 0;
  while (text.charAt(at - 1 - run) === "\\") run += 1;
  return run >= escapes && (run - escapes) % (2 * (escapes + 1)) === 0;
}

/** Returns a header's value without its scheme. Cookies and schemes with several values extend to the end of the line. */
function readHeader(text: string, name: string, at: number): Range | undefined {
  const long = matchAt(/cookie2?$/i.test(name.slice(-maxNameLength)) ? cookies : longScheme, text, at);
  if (long !== undefined) return { from: at, to: at + long.length };
  const before = matchAt(scheme, text, at);
  if (before !== undefined) return readBare(text, at + before.length, isValue);
  const other = /authorization$/i.test(name.slice(-maxNameLength)) ? matchAt(anyScheme, text, at) : undefined;
  return other === undefined ? undefined : readBare(text, at + other.length, isNoProse);
}

function readBare(text: string, from: number, isSecret: (value: string) => boolean): Range | undefined {
  const value = matchAt(bare, text, from);
  return value !== undefined && isSecret(value) ? { from, to: from + value.length } : undefined;
}

function matchAt(pattern: RegExp, text: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text)?.[0];
}

function isValue(value: string): boolean {
  return value.length >= 4 && !notSecret.test(value) && !/^(?:[/~]|[A-Za-z]:)/.test(value);
}

function isNoProse(value: string): boolean {
  return isValue(value) && !plainWord.test(value);
}

export function looksRandom(value: string): boolean {
  return value.length >= 8 && /\d/.test(value) && /[A-Za-z]/.test(value) && isNoProse(value);
}
