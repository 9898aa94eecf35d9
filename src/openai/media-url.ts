// Where the bytes of images and files are, as both wires of OpenAI want to be told.

import { isOnWeb, type ReadableMedia, toBase64 } from "../core/provider-kit.ts";

/** Bytes as a data URL. */
export function toDataUrl(media: Exclude<ReadableMedia, { readonly kind: "url" }>): string {
  return `data:${media.mediaType};base64,${toBase64(media)}`;
}

/**
 * The URL of an image. Undefined for what is none, or cannot be fetched. Servers of these wires know more types than OpenAI does, but none
 * draws; and bytes have to be of one type.
 */
export function toImageUrl(media: ReadableMedia): string | undefined {
  const { mediaType } = media;
  if (!mediaType.startsWith("image/") || mediaType === "image/svg+xml") return undefined;
  if (media.kind === "url") return isOnWeb(media) ? media.url : undefined;
  return mediaType === "image/*" ? undefined : toDataUrl(media);
}
