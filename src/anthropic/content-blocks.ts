// Content that users and tools hand to the model, as blocks of the Messages wire.

import {
  isOnWeb,
  isTextType,
  type MediaForms,
  readText,
  toBase64,
  writeToolMedia,
  writeUserMedia,
} from "../core/provider-kit.ts";
import type { ContentPart, MediaPlace, ReadableMedia } from "../core/provider-kit.ts";
import type { WireBlock } from "./messages-wire.ts";

/**
 * The blocks of a user's content. Blank texts are left out, because the service refuses them. Throws a ProviderError `bad-request` for
 * what the wire has no form for.
 */
export function toUserBlocks(content: string | readonly ContentPart[], place: Omit<MediaPlace, "part">): readonly WireBlock[] {
  if (typeof content === "string") return toTextBlocks(content);
  return content.flatMap((part, index) =>
    part.type === "text" ? toTextBlocks(part.text) : [writeUserMedia(part, blockMedia, { ...place, part: index })],
  );
}

/** The blocks of what a tool has returned beside its result; in words where the wire has no form for it. */
export function toResultBlocks(content: readonly ContentPart[]): readonly WireBlock[] {
  return content.flatMap((part) => {
    const written = part.type === "text" ? part.text : writeToolMedia(part, blockMedia);
    return typeof written === "string" ? toTextBlocks(written) : [written];
  });
}

/** One block, or none for a blank text. */
export function toTextBlocks(text: string): readonly WireBlock[] {
  return text.trim() === "" ? [] : [{ type: "text", text }];
}

/** A drawing is none of these: the service takes it as text only. */
const imageTypes: ReadonlySet<string> = new Set(["image/jpeg", "image/png", "image/gif", "image/webp"]);

const blockMedia: MediaForms<WireBlock> = {
  takes: "images as JPEG, PNG, GIF or WebP and PDFs, in base64 or at https: or http: URLs, and in base64 texts in UTF-8",
  write(media) {
    if (isTextType(media.mediaType)) return toTextDocument(media);
    const type = toBlockType(media);
    const source = toSource(media);
    return type === undefined || source === undefined ? undefined : { type, source };
  },
};

/** At a URL an image may be of a type that nobody knows yet. */
function toBlockType({ kind, mediaType }: ReadableMedia): "image" | "document" | undefined {
  if (mediaType === "application/pdf") return "document";
  return imageTypes.has(mediaType) || (kind === "url" && mediaType === "image/*") ? "image" : undefined;
}

function toSource(media: ReadableMedia): WireBlock["source"] {
  if (media.kind === "url") return isOnWeb(media) ? { type: "url", url: media.url } : undefined;
  return { type: "base64", media_type: media.mediaType, data: toBase64(media) };
}

/** The wire takes a text as text only, so that its bytes are decoded here. */
function toTextDocument(media: ReadableMedia): WireBlock | undefined {
  const data = readText(media);
  return data === undefined ? undefined : { type: "document", source: { type: "text", media_type: "text/plain", data } };
}
