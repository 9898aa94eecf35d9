// Content that users and tools hand to the model, as blocks of the Messages wire.

import type { ContentPart } from "../../spi.ts";
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
const textTypes = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|javascript|[\w.-]+\+(?:json|xml)))$/;

/**
 * An image, or a document: a PDF or a text. Of anything else the model is told that it was there, for the service refuses it,
 * and with it every later request of the conversation.
 */
function toMediaBlock(part: MediaPart): WireBlock {
  const location = locate(part);
  const mediaType = location?.kind === "base64" || location?.kind === "text" ? location.mediaType : normalize(part.mediaType);
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
  if (!textTypes.test(mediaType) || location.kind === "url") return undefined;
  const text = location.kind === "text" ? location.text : decodeUtf8(location.data);
  if (text === undefined || text.trim() === "") return undefined;
  return { type: "document", source: { type: "text", media_type: "text/plain", data: text } };
}

/** Base64 has no colon, so that a scheme tells a URL. */
const scheme = /^([a-z][a-z\d+.-]{0,31}):/i;

/** Undefined for schemes that the service cannot follow, such as "file:". */
function locate({ data, mediaType }: MediaPart): Location | undefined {
  const text = typeof data === "string" ? data : data.href;
  const found = scheme.exec(text)?.[1]?.toLowerCase();
  if (found === undefined) return { kind: "base64", mediaType: normalize(mediaType), data: text };
  if (found === "http" || found === "https") return { kind: "url", url: text };
  return found === "data" ? readDataUrl(text, mediaType) : undefined;
}

function readDataUrl(url: string, mediaType: string): Location | undefined {
  const comma = url.indexOf(",");
  if (comma === -1) return undefined;
  const [type = "", ...parameters] = url.slice("data:".length, comma).split(";");
  const data = url.slice(comma + 1);
  const known = normalize(type === "" ? mediaType : type);
  if (parameters.some((parameter) => parameter.trim().toLowerCase() === "base64")) {
    return { kind: "base64", mediaType: known, data };
  }
  try {
    return { kind: "text", mediaType: known, text: decodeURIComponent(data) };
  } catch {
    return undefined;
  }
}

/** Without parameters such as a charset, and under the registered name. */
function normalize(mediaType: string): string {
  const bare = (mediaType.split(";")[0] ?? "").trim().toLowerCase();
  return bare === "image/jpg" ? "image/jpeg" : bare;
}

function decodeUtf8(base64: string): string | undefined {
  try {
    const bytes = Uint8Array.from(atob(base64), (character) => character.codePointAt(0) ?? 0);
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}
