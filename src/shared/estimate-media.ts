// Estimates the tokens of images and files. Services count pixels, pages, seconds or text, but never the base64 length.

import { isRecord } from "./guards.ts";
import { readImageSize } from "./image-size.ts";
import { isEncoded, isTextType, locateMedia, type MediaPart, readText } from "./media-source.ts";
import { memoize } from "./promises.ts";
import { estimateTokens, tokensOfBytes } from "./estimate-tokens.ts";

/** The token estimate for a large image, which services scale down, or for an image whose size cannot be read. */
const imageTokens = 1_600;
/** The number of pixels per token in an image, according to Claude's documentation. */
const pixelsPerToken = 750;
/** The token estimate for a PDF page. Claude's documentation says 1,500 to 3,000, and Gemini counts fewer. */
const pageTokens = 2_000;
/** The typical size of a page in bytes, for other documents and for PDFs whose pages cannot be counted. */
const pageBytes = 75_000;
/** Tokens per second of audio, from Gemini's documentation, and typical bytes per second. */
const audioRate = {
  tokens: 32,
  bytes: { "audio/wav": 32_000, "audio/x-wav": 32_000 } as { readonly [type: string]: number },
  usual: 16_000,
};
const videoRate = { tokens: 300, bytes: 250_000 };

export const estimateMedia: (part: MediaPart) => number = /* @__PURE__ */ memoize((part: MediaPart): number => {
  const media = locateMedia(part);
  const { mediaType } = media;
  if (media.kind === "unreadable") return 0;
  if (media.kind === "url") return mediaType.startsWith("image/") || part.type === "image" ? imageTokens : pageTokens;
  if (media.kind === "text" || isTextType(mediaType)) return estimateTokens(readText(media) ?? "");
  return estimateEncoded(media.data, mediaType) ?? pagesOf(bytesOf(media.data)) * pageTokens;
});

/** Estimates the token count of a base64 file. Returns undefined for a media type without a rule. */
function estimateEncoded(base64: string, mediaType: string): number | undefined {
  if (mediaType.startsWith("image/")) {
    const size = readImageSize(base64, mediaType);
    return size === undefined ? imageTokens : Math.min(imageTokens, Math.ceil((size.width * size.height) / pixelsPerToken));
  }
  const bytes = bytesOf(base64);
  if (mediaType === "application/pdf") return (countPages(base64) || pagesOf(bytes)) * pageTokens;
  if (mediaType.startsWith("audio/"))
    return Math.ceil((bytes / (audioRate.bytes[mediaType] ?? audioRate.usual)) * audioRate.tokens);
  return mediaType.startsWith("video/") ? Math.ceil((bytes / videoRate.bytes) * videoRate.tokens) : undefined;
}

function bytesOf(base64: string): number {
  return (base64.length * 3) / 4 - (/=+$/.exec(base64.slice(-2))?.[0].length ?? 0);
}

function pagesOf(bytes: number): number {
  return Math.ceil(bytes / pageBytes);
}

/** Counts the pages of a PDF. Returns 0 if the PDF's objects are compressed. */
function countPages(base64: string): number {
  return atob(base64).match(/\/Type\s{0,8}\/Page(?![A-Za-z])/g)?.length ?? 0;
}

/** The minimum length of a base64 string. A shorter one is counted as text. */
const shortestEncoded = 1_000;

const beginOfDataUrl = /^data:[\w.+-]{1,100}\/[\w.+-]{1,100};base64,/;

/** Estimates the token count of a provider's JSON data, in which a long base64 string is an image, a file or encrypted data. */
export function estimateMetadata(value: unknown): number {
  let tokens = 0;
  const text = JSON.stringify(value, function (this: unknown, _key: string, inner: unknown): unknown {
    if (
      typeof inner !== "string" ||
      inner.length < shortestEncoded ||
      !isEncoded(inner.replace(beginOfDataUrl, ""), /[^A-Za-z0-9+/_-]/)
    )
      return inner;
    tokens += estimateString(inner, this);
    return "";
  });
  return tokens + estimateTokens(text ?? "");
}

function estimateString(data: string, holder: unknown): number {
  const fields = isRecord(holder) ? holder : {};
  const given = ["mimeType", "mime_type", "mediaType", "media_type"]
    .map((name) => fields[name])
    .find((type) => typeof type === "string");
  const media = locateMedia({ type: "file", mediaType: typeof given === "string" ? given : "application/octet-stream", data });
  if (media.kind !== "base64") return estimateTokens(data);
  return estimateEncoded(media.data, media.mediaType) ?? tokensOfBytes(bytesOf(media.data));
}
