// Content that users and tools hand to the model, as blocks of the Messages wire.

import { type ContentPart, type DataUrl, isTextType, normalizeMediaType, readDataUrl, schemeOf } from "../../spi.ts";
import type { WireBlock } from "./messages-wire.ts";

/** The blocks of some content. Blank texts are left out, because the service refuses them. */
export function toContentBlocks(content: string | readonly ContentPart[]): readonly WireBlock[] {
  if (typeof content === "string") return toTextBlocks(content);
  return content.flatMap((part) => (part.type === "text" ? toTextBlocks(part.text) : [toMediaBlock(part)]));
}

/** One block, or none for a blank text. */
export function toTextBlocks(text: string): readonly WireBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

type MediaPart = Exclude<ContentPart, { readonly type: "text" }>;

/** Where the bytes are. */
type Location =
  | { readonly kind: "url"; readonly url: string }
  | { readonly kind: "base64"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "text"; readonly mediaType: string; readonly text: string };

const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

/**
 * An image, or a document: a PDF or a text. Of anything else the model is told that it was there, for the service refuses it,
 * and with it every later request of the conversation.
 */
function toMediaBlock(part: MediaPart): WireBlock {
  const location = locate(part);
  const mediaType =
    location?.kind === "base64" || location?.kind === "text" ? location.mediaType : normalizeMediaType(part.mediaType);
  const block =
    location === undefined
      ? undefined
      : (toImage(location, mediaType) ?? toPdf(location, mediaType) ?? toTextDocument(location, mediaType));
  return block ?? { type: "text", text: `[Content of type ${mediaType}, which cannot be shown here.]` };
}

function toImage(location: Location, mediaType: string): WireBlock | undefined {
  if (location.kind === "url" && mediaType.startsWith("image/")) {
    return { type: "image", source: { type: "url", url: location.url } };
  }
  if (location.kind !== "base64" || !imageTypes.has(mediaType)) return undefined;
  return { type: "image", source: { type: "base64", media_type: mediaType, data: location.data } };
}

function toPdf(location: Location, mediaType: string): WireBlock | undefined {
  if (mediaType !== "application/pdf" || location.kind === "text") return undefined;
  if (location.kind === "url") return { type: "document", source: { type: "url", url: location.url } };
  return { type: "document", source: { type: "base64", media_type: mediaType, data: location.data } };
}

/** The wire takes a text as text only, so that its bytes are decoded here. */
function toTextDocument(location: Location, mediaType: string): WireBlock | undefined {
  if (!isTextType(mediaType) || location.kind === "url") return undefined;
  const text = location.kind === "text" ? location.text : decodeUtf8(location.data);
  if (text === undefined || text.trim() === "") return undefined;
  return { type: "document", source: { type: "text", media_type: "text/plain", data: text } };
}

/** Undefined for schemes that the service cannot follow, such as "file:". */
function locate({ data, mediaType }: MediaPart): Location | undefined {
  const text = typeof data === "string" ? data : data.href;
  const found = schemeOf(text);
  if (found === undefined) return { kind: "base64", mediaType: normalizeMediaType(mediaType), data: text };
  if (found === "http" || found === "https") return { kind: "url", url: text };
  return found === "data" ? toLocation(readDataUrl(text, mediaType)) : undefined;
}

function toLocation({ mediaType, data }: DataUrl): Location | undefined {
  if (data === undefined) return undefined;
  const known = normalizeMediaType(mediaType);
  if (data.kind === "base64") return { kind: "base64", mediaType: known, data: data.text };
  return { kind: "text", mediaType: known, text: data.text };
}

function decodeUtf8(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
