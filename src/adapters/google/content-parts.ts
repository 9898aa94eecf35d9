// Content that users and tools hand to the model, as parts of the wire.

import { type ContentPart, isTextType, normalizeMediaType, readDataUrl, schemeOf, toBase64 } from "../../spi.ts";
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
  const mediaType = normalizeMediaType(location?.kind === "bytes" ? location.bytes.mimeType : part.mediaType);
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
  const mimeType = toKnownType(normalizeMediaType(location.bytes.mimeType));
  return mimeType !== undefined && responseTypes.has(mimeType) ? { mimeType, data: location.bytes.data } : undefined;
}

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]);
const otherTypes = /^(?:(?:audio|video)\/[\w.+-]+|application\/pdf)$/;

/** Read from the guide to function calling of the Gemini API, section "Multimodal function responses". */
const responseTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"]);

/** The service reads every text as one, but knows few names for it. */
function toKnownType(mediaType: string): string | undefined {
  if (isTextType(mediaType)) return "text/plain";
  return imageTypes.has(mediaType) || otherTypes.test(mediaType) ? mediaType : undefined;
}

/** Undefined for schemes that the service cannot follow, such as "file:", and for no bytes at all. */
function locate({ data, mediaType }: MediaPart): Location | undefined {
  const text = typeof data === "string" ? data : data.href;
  const found = schemeOf(text);
  if (found === undefined) return toBytes(mediaType, text);
  if (found === "https" || found === "http" || found === "gs") return { kind: "address", uri: text };
  if (found !== "data") return undefined;
  const read = readDataUrl(text, mediaType);
  const bytes = toBase64(read);
  return bytes === undefined ? undefined : toBytes(read.mediaType, bytes);
}

function toBytes(mimeType: string, data: string): Location | undefined {
  return data === "" ? undefined : { kind: "bytes", bytes: { mimeType, data } };
}
