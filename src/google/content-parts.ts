// Content that users and tools hand to the model, as parts of the wire.

import {
  isOnWeb,
  isTextType,
  type MediaForms,
  type MediaPart,
  toBase64,
  writeToolMedia,
  writeUserMedia,
} from "../core/provider-kit.ts";
import type { ContentPart, MediaPlace } from "../core/provider-kit.ts";
import type { WirePart } from "./generate-wire.ts";

/**
 * The parts of a user's content. Blank texts are left out, because Vertex AI refuses them. Throws a ProviderError `bad-request` for what
 * the wire has no form for.
 */
export function toContentParts(content: string | readonly ContentPart[], place: Omit<MediaPlace, "part">): readonly WirePart[] {
  if (typeof content === "string") return toTextParts(content);
  return content.flatMap((part, index) =>
    part.type === "text" ? toTextParts(part.text) : [writeUserMedia(part, partMedia, { ...place, part: index })],
  );
}

/** One part, or none for a blank text. */
export function toTextParts(text: string): readonly WirePart[] {
  return text.trim() === "" ? [] : [{ text }];
}

/** What a tool has returned beside its result; in words where the wire has no form for it. */
export function toResultMedia(part: MediaPart): MediaWirePart | string {
  return writeToolMedia(part, partMedia);
}

/** Bytes in base64, or an address for the service to fetch: of the Files API, of a bucket, or of the web. */
export type MediaWirePart =
  | { readonly inlineData: { readonly mimeType: string; readonly data: string } }
  | { readonly fileData: { readonly mimeType: string; readonly fileUri: string } };

/** Whether a part may stand within the answer of a tool. */
export function standsInAnswer(part: MediaWirePart): boolean {
  return "inlineData" in part && answerTypes.has(part.inlineData.mimeType);
}

/** Read from the guide to function calling of the Gemini API, section "Multimodal function responses". */
const answerTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"]);

const partMedia: MediaForms<MediaWirePart> = {
  takes: "images as PNG, JPEG, WebP, HEIC or HEIF, sounds, videos, PDFs and texts, in base64 or at https:, http: or gs: URLs",
  write(media) {
    const mimeType = toKnownType(media.mediaType);
    if (mimeType === undefined) return undefined;
    if (media.kind !== "url") return { inlineData: { mimeType, data: toBase64(media) } };
    return isOnWeb(media) || media.scheme === "gs" ? { fileData: { mimeType, fileUri: media.url } } : undefined;
  },
};

const imageTypes: ReadonlySet<string> = new Set(["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"]);
const otherTypes = /^(?:(?:audio|video)\/[\w.+-]+|application\/pdf)$/;

/** The service reads every text as one, but knows few names for it. */
function toKnownType(mediaType: string): string | undefined {
  if (isTextType(mediaType)) return "text/plain";
  return imageTypes.has(mediaType) || otherTypes.test(mediaType) ? mediaType : undefined;
}
