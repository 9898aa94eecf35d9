// Content that users and tools hand to the model, as parts of the wire.

import type { ContentPart } from "../../spi.ts";
import type { WirePart } from "./generate-wire.ts";

/** The parts of some content. Blank texts are left out, because Vertex AI refuses them. */
export function toContentParts(content: string | readonly ContentPart[]): readonly WirePart[] {
  if (typeof content === "string") return toTextParts(content);
  return content.flatMap((part) => (part.type === "text" ? toTextParts(part.text) : [toMediaPart(part)]));
}

/** One part, or none for a blank text. */
export function toTextParts(text: string): readonly WirePart[] {
  return text.trim() === "" ? [] : [{ text }];
}

/** An image or a file. */
export type MediaPart = Exclude<ContentPart, { readonly type: "text" }>;

/** Bytes as the wire takes them: base64, of a type that it knows. */
export interface InlineData {
  readonly mimeType: string;
  readonly data: string;
}

/** Where the bytes are. */
type Location = { readonly kind: "bytes"; readonly bytes: InlineData } | { readonly kind: "address"; readonly uri: string };

/**
 * Bytes, or an address for the service to fetch: of the Files API, of a bucket ("gs:"), or of the web. Of anything else the model is
 * told that it was there, for the service refuses it, and with it every later request of the conversation.
 */
export function toMediaPart(part: MediaPart): WirePart {
  const location = locate(part);
  const mediaType = normalize(location?.kind === "bytes" ? location.bytes.mimeType : part.mediaType);
  const mimeType = toKnownType(mediaType);
  if (location === undefined || mimeType === undefined)
    return { text: `[Content of type ${mediaType}, which cannot be shown here.]` };
  if (location.kind === "address") return { fileData: { mimeType, fileUri: location.uri } };
  return { inlineData: { mimeType, data: location.bytes.data } };
}

/** The bytes of a part as they may stand within the answer of a tool; undefined where they may not. */
export function toResponseData(part: MediaPart): InlineData | undefined {
  const location = locate(part);
  if (location?.kind !== "bytes") return undefined;
  const mimeType = toKnownType(normalize(location.bytes.mimeType));
  return mimeType !== undefined && responseTypes.has(mimeType) ? { mimeType, data: location.bytes.data } : undefined;
}

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]);
const otherTypes = /^(?:(?:audio|video)\/[\w.+-]+|application\/pdf)$/;
const textTypes = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|javascript|[\w.-]+\+(?:json|xml)))$/;

/** Read from the guide to function calling of the Gemini API, section "Multimodal function responses". */
const responseTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"]);

/** The service reads every text as one, but knows few names for it. */
function toKnownType(mediaType: string): string | undefined {
  if (textTypes.test(mediaType)) return "text/plain";
  return imageTypes.has(mediaType) || otherTypes.test(mediaType) ? mediaType : undefined;
}

/** Base64 has no colon, so that a scheme tells a URL. */
const scheme = /^([a-z][a-z\d+.-]{0,31}):/i;

/** Undefined for schemes that the service cannot follow, such as "file:", and for no bytes at all. */
function locate({ data, mediaType }: MediaPart): Location | undefined {
  const text = typeof data === "string" ? data : data.href;
  const found = scheme.exec(text)?.[1]?.toLowerCase();
  if (found === undefined) return toBytes(mediaType, text);
  if (found === "https" || found === "http" || found === "gs") return { kind: "address", uri: text };
  return found === "data" ? readDataUrl(text, mediaType) : undefined;
}

function toBytes(mimeType: string, data: string): Location | undefined {
  return data === "" ? undefined : { kind: "bytes", bytes: { mimeType, data } };
}

function readDataUrl(url: string, mediaType: string): Location | undefined {
  const comma = url.indexOf(",");
  if (comma === -1) return undefined;
  const [type = "", ...parameters] = url.slice("data:".length, comma).split(";");
  const data = url.slice(comma + 1);
  const known = type === "" ? mediaType : type;
  if (parameters.some((parameter) => parameter.trim().toLowerCase() === "base64")) return toBytes(known, data);
  const encoded = encodeText(data);
  return encoded === undefined ? undefined : toBytes(known, encoded);
}

/** A percent-encoded text as base64 of its UTF-8. */
function encodeText(text: string): string | undefined {
  try {
    return btoa(Array.from(new TextEncoder().encode(decodeURIComponent(text)), (byte) => String.fromCodePoint(byte)).join(""));
  } catch {
    return undefined;
  }
}

/** Without parameters such as a charset, and under the registered name. */
function normalize(mediaType: string): string {
  const bare = (mediaType.split(";")[0] ?? "").trim().toLowerCase();
  return bare === "image/jpg" ? "image/jpeg" : bare;
}
