// Where the bytes of a neutral part are, and whether a model takes them from there.

import { type ContentPart, type DataUrl, isRecord, providerError, readDataUrl, schemeOf, toBase64 } from "../../spi.ts";
import type { FileFacts } from "./spec-words.ts";

type MediaPart = Exclude<ContentPart, { readonly type: "text" }>;

/** Reads a part. Throws a ProviderError `bad-request` where it holds a URL that is none. */
export function toFile({ mediaType, data }: MediaPart): FileFacts {
  const text = typeof data === "string" ? data : data.href;
  const scheme = schemeOf(text);
  if (scheme === undefined) return { mediaType, source: { kind: "base64", data: text } };
  if (scheme === "data") return fromDataUrl(readDataUrl(text, mediaType));
  if (!URL.canParse(text)) throw providerError("bad-request", `A part of type ${mediaType} has a URL that cannot be read.`);
  return { mediaType, source: { kind: "url", text, url: new URL(text) } };
}

function fromDataUrl(url: DataUrl): FileFacts {
  const { mediaType } = url;
  const data = toBase64(url);
  if (data === undefined) throw providerError("bad-request", `A part of type ${mediaType} has a data URL that cannot be read.`);
  return { mediaType, source: { kind: "base64", data } };
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
