// Finds out whether an image or a file is base64, text or a URL, and determines its media type. Fetches nothing.

import type { ContentPart } from "../core/types/common.ts";
import { memoize } from "./promises.ts";

const pieceBytes = 8_192;

/** Encodes bytes as base64. */
export function encodeBase64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    pieces.push(String.fromCharCode(...bytes.subarray(start, start + pieceBytes)));
  }
  return btoa(pieces.join(""));
}

/** An image or a file. */
export type MediaPart = Exclude<ContentPart, { readonly type: "text" }>;

/** A readable image or file, with a normalized media type. A data URL's media type takes precedence over the given one. */
export type ReadableMedia = Named & Readable;

type Readable =
  | { readonly kind: "url"; readonly mediaType: string; readonly scheme: string; readonly url: string }
  /** `data` uses the standard base64 alphabet, with padding and without line breaks. */
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "text"; readonly mediaType: string; readonly text: string };

interface Unreadable {
  readonly kind: "unreadable";
  readonly mediaType: string;
  readonly why: string;
}

interface Named {
  /** The name of the file. Undefined if it is absent or blank. */
  readonly filename?: string | undefined;
}

export type MediaSource = Named & (Readable | Unreadable);

/** Matches the scheme of a URL. Base64 text contains no colon, so it never matches. */
const beginOfUrl = /^([a-z][a-z\d+.-]{0,31}):/i;

/**
 * Locates the content of an image or a file. Fetches no URLs. Validates base64 completely, but does not decode it. The first bytes
 * determine the media type. Cached for each part, because the text may be long.
 */
export const locateMedia: (part: MediaPart) => MediaSource = /* @__PURE__ */ memoize((part: MediaPart): MediaSource => {
  const { filename = "" } = part;
  return filename.trim() === "" ? readSource(part) : { ...readSource(part), filename };
});

function readSource({ mediaType, data }: MediaPart): Readable | Unreadable {
  const text = typeof data === "string" ? data : data.href;
  const type = normalizeMediaType(mediaType);
  const scheme = beginOfUrl.exec(text)?.[1]?.toLowerCase();
  if (scheme === undefined) return readBase64(text, type);
  if (scheme === "data") return readDataUrl(text, type);
  return URL.canParse(text)
    ? { kind: "url", mediaType: type, scheme, url: text }
    : { kind: "unreadable", mediaType: type, why: "its URL cannot be read" };
}

function readDataUrl(url: string, givenType: string): Readable | Unreadable {
  const comma = url.indexOf(",");
  const [type = "", ...parameters] = url.slice("data:".length, comma === -1 ? undefined : comma).split(";");
  const mediaType = type.trim() === "" ? givenType : normalizeMediaType(type);
  const text = comma === -1 ? undefined : unescapeText(url.slice(comma + 1));
  if (text === undefined) return { kind: "unreadable", mediaType, why: "its data URL cannot be read" };
  if (parameters.some((parameter) => parameter.trim().toLowerCase() === "base64")) return readBase64(text, mediaType);
  return text === "" ? readBase64("", mediaType) : { kind: "text", mediaType, text };
}

function unescapeText(text: string): string | undefined {
  if (!text.includes("%")) return text;
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function readBase64(data: string, mediaType: string): Readable | Unreadable {
  if (data === "") return { kind: "unreadable", mediaType, why: "its data is empty" };
  const standard = isBase64(data) ? data : tidyBase64(data);
  if (!isBase64(standard)) return { kind: "unreadable", mediaType, why: "its data is neither base64 nor a URL" };
  return { kind: "base64", mediaType: recognizeType(standard, mediaType), data: standard };
}

/**
 * True if `text` contains only characters of the base64 alphabet, apart from padding at its end. Searches for the first `other` character
 * instead of matching the whole text: once a process has compiled a lot of code, V8 stops optimizing patterns, and a repetition then
 * overflows the stack in 5 MB of text.
 */
export function isEncoded(text: string, other: RegExp): boolean {
  return !other.test(text.replace(/={1,2}$/, ""));
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && isEncoded(text, /[^A-Za-z0-9+/]/);
}

/**
 * Converts base64 text to the standard alphabet, with padding and without line breaks, because some services accept only this
 * form.
 */
function tidyBase64(data: string): string {
  const bare = data
    .replace(/[\r\n]+/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  return bare.padEnd(4 * Math.ceil(bare.length / 4), "=");
}

const anyImage = "image/*";

/**
 * A pattern for the first bytes of files of a media type. `given` restricts a weak pattern to some of the given types, because other text
 * may begin in the same way.
 */
type Head = readonly [head: RegExp, mediaType: string, given?: RegExp];

/** The first bytes of known file types, as base64. */
const heads: readonly Head[] = [
  [/^iVBORw0KGgo/, "image/png"],
  [/^\/9j\//, "image/jpeg"],
  [/^R0lGODdh|^R0lGODlh/, "image/gif"],
  [/^UklGR.{7}RUJQ/, "image/webp"],
  [/^JVBERi0/, "application/pdf"],
  [/^SUkqA|^TU0AK/, "image/tiff"],
  [/^A{4}.{4}eXBo(?:ZWl[jx4]|ZXZ[jx4])/, "image/heic"],
  [/^A{4}.{4}eXBtaWYx/, "image/heif"],
  [/^A{4}.{4}eXBhdmlm/, "image/avif"],
  [/^Qk/, "image/bmp", /^image\//],
  [/^PHN2Zy|^PD94bW/, "image/svg+xml", /^image\//],
  [/^PCFET0NUWVBF|^PCFkb2N0eXBl|^PGh0bW/, "text/html", /^(?:image\/|application\/pdf$)/],
];

/** The header of a PDF, which services look for in the first 1,024 bytes. */
const pdfHead = /%PDF/;

/**
 * The types that browsers give to files of an unknown type, such as .md, and to .csv on Windows
 * (github.com/CherryHQ/cherry-studio/pull/15780).
 */
const vagueType = /^(?:application\/(?:octet-stream|vnd\.ms-excel))?$/;

/**
 * Reads the media type from the first bytes. Services refuse an image whose type does not match its bytes
 * (github.com/microsoft/playwright-mcp/issues/1211), and a PDF without its header (github.com/anthropics/claude-code/issues/20195). Returns
 * the given type if the bytes have no known type.
 */
function recognizeType(data: string, given: string): string {
  const found = heads.find(([head, , types]) => head.test(data) && types?.test(given) !== false)?.[1];
  const isKnown = given === "application/pdf" ? pdfHead.test(atob(data.slice(0, 1_368))) : !vagueType.test(given);
  if (found !== undefined || isKnown) return found ?? given;
  const text = decodeUtf8(data);
  if (text !== undefined && !text.includes("\0")) return "text/plain";
  return given === "application/pdf" ? "application/octet-stream" : given;
}

/** True if a browser gives this type to files of any kind. */
export function isVagueType(mediaType: string): boolean {
  return vagueType.test(mediaType);
}

/** Returns an image's or file's content as base64. */
export function toBase64(media: Exclude<ReadableMedia, { readonly kind: "url" }>): string {
  return media.kind === "base64" ? media.data : encodeBase64(new TextEncoder().encode(media.text));
}

/**
 * Returns a file's content as text. Returns undefined if the part has only a URL, or if the content is not valid UTF-8 or
 * is blank.
 */
export function readText(media: ReadableMedia): string | undefined {
  const text = media.kind === "base64" ? decodeUtf8(media.data) : media.kind === "text" ? media.text : undefined;
  return text === undefined || text.trim() === "" ? undefined : text;
}

function decodeUtf8(base64: string): string | undefined {
  const binary = atob(base64);
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index += 1) bytes[index] = binary.codePointAt(index) ?? 0;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** True for an http or https URL, which any service can fetch. */
export function isOnWeb({ scheme }: { readonly scheme: string }): boolean {
  return scheme === "https" || scheme === "http";
}

function normalizeMediaType(mediaType: string): string {
  const bare = (mediaType.split(";")[0] ?? "").trim().toLowerCase();
  if (bare === "image") return anyImage;
  return bare === "image/jpg" ? "image/jpeg" : bare;
}

const texts = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|javascript|[\w.-]+\+(?:json|xml)))$/;

/** True if a media type fits a pattern such as "image/png", "image/*" or "*". Case does not matter. */
export function isMediaTypeOf(mediaType: string, pattern: string): boolean {
  const [type, rule] = [mediaType.toLowerCase(), pattern.toLowerCase()];
  if (rule === "*" || rule === "*/*") return true;
  return rule.endsWith("/*") ? type.startsWith(rule.slice(0, -1)) : type === rule;
}

/** True if files with this media type contain text. */
export function isTextType(mediaType: string): boolean {
  return texts.test(mediaType);
}
