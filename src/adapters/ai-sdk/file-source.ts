// Where the bytes of a neutral part are, and whether a model takes them from there.

import { type ContentPart, isRecord, providerError } from "../../spi.ts";
import type { FileFacts } from "./spec-words.ts";

type MediaPart = Exclude<ContentPart, { readonly type: "text" }>;

/** Base64 has no colon, so that a scheme tells a URL. */
const scheme = /^[a-z][a-z\d+.-]{0,31}:/i;

/** Reads a part. Throws a ProviderError `bad-request` where it holds a URL that is none. */
export function toFile({ mediaType, data }: MediaPart): FileFacts {
  const text = typeof data === "string" ? data : data.href;
  if (!scheme.test(text)) return { mediaType, source: { kind: "base64", data: text } };
  if (/^data:/i.test(text)) return readDataUrl(text, mediaType);
  if (!URL.canParse(text)) throw providerError("bad-request", `A part of type ${mediaType} has a URL that cannot be read.`);
  return { mediaType, source: { kind: "url", text, url: new URL(text) } };
}

function readDataUrl(text: string, givenType: string): FileFacts {
  const comma = text.indexOf(",");
  const [type = "", ...parameters] = text.slice("data:".length, comma === -1 ? undefined : comma).split(";");
  const mediaType = type === "" ? givenType : type;
  const data = comma === -1 ? undefined : toBase64(text.slice(comma + 1), parameters);
  if (data === undefined) throw providerError("bad-request", `A part of type ${mediaType} has a data URL that cannot be read.`);
  return { mediaType, source: { kind: "base64", data } };
}

function toBase64(body: string, parameters: readonly string[]): string | undefined {
  if (parameters.some((parameter) => parameter.trim().toLowerCase() === "base64")) return body;
  try {
    return encodeBase64(new TextEncoder().encode(decodeURIComponent(body)));
  } catch {
    return undefined;
  }
}

const pieceBytes = 8_192;

/** In pieces, because a call takes only so many arguments. */
export function encodeBase64(bytes: Uint8Array): string {
  const pieces: string[] = [];
  for (let start = 0; start < bytes.length; start += pieceBytes) {
    pieces.push(String.fromCharCode(...bytes.subarray(start, start + pieceBytes)));
  }
  return btoa(pieces.join(""));
}

/**
 * Whether a model takes a file from where it is. Its patterns stand under media types, which may end in an asterisk or be one, and are made
 * for lower-case URLs.
 */
export function takesFile(patterns: unknown, { mediaType, source }: FileFacts): boolean {
  if (source.kind === "base64") return true;
  if (!isRecord(patterns)) return false;
  const spellings = [source.text, source.text.toLowerCase()];
  return Object.entries(patterns).some(
    ([key, list]) =>
      isMediaTypeOf(mediaType.toLowerCase(), key.toLowerCase()) &&
      Array.isArray(list) &&
      // `search` does not keep a position between calls, as `test` does for some patterns.
      list.some((pattern: unknown) => pattern instanceof RegExp && spellings.some((url) => url.search(pattern) !== -1)),
  );
}

function isMediaTypeOf(mediaType: string, key: string): boolean {
  if (key === "*" || key === "*/*") return true;
  if (!key.endsWith("/*")) return mediaType === key;
  return mediaType.startsWith(key.slice(0, -1)) || mediaType === key.slice(0, -2);
}
