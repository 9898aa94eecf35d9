// Media and tool calls in the format of both APIs of OpenAI.

import {
  isOnWeb,
  type Json,
  type MediaPart,
  type ReadableMedia,
  toArgumentsObject,
  toBase64,
  type ToolResultPart,
} from "../core/provider-kit.ts";

/** Returns a data URL. */
export function toDataUrl(media: Exclude<ReadableMedia, { readonly kind: "url" }>): string {
  return `data:${media.mediaType};base64,${toBase64(media)}`;
}

/**
 * Returns the URL of an image. Undefined for anything else, or if it cannot be fetched. Compatible servers support more types
 * than OpenAI, but none supports SVG. Base64 data must have a specific type.
 */
export function toImageUrl(media: ReadableMedia): string | undefined {
  const { mediaType } = media;
  if (!mediaType.startsWith("image/") || mediaType === "image/svg+xml") return undefined;
  if (media.kind === "url") return isOnWeb(media) ? media.url : undefined;
  return mediaType === "image/*" ? undefined : toDataUrl(media);
}

/** Returns the text of arguments, which servers parse. */
export function toWireArguments(args: Json): string {
  return JSON.stringify(toArgumentsObject(args));
}

/** The texts of a result, with its data first, and its other parts. */
interface SortedResult<Part> {
  readonly text: string;
  readonly media: readonly Part[];
}

/** Joins the texts of a result, one per line. `write` may convert an image or a file to a text. */
export function sortResult<Part extends object>(
  { result, content = [] }: ToolResultPart,
  write: (part: MediaPart) => Part | string,
): SortedResult<Part> {
  const texts = [typeof result === "string" ? result : JSON.stringify(result)];
  const media: Part[] = [];
  for (const part of content) {
    const written = part.type === "text" ? part.text : write(part);
    if (typeof written === "object") media.push(written);
    else if (written !== "") texts.push(written);
  }
  return { text: texts.join("\n"), media };
}

/** The text before images and files that are sent in a separate message. */
export function toMediaTitle(toolName: string, id: string): string {
  return `Content that the tool ${toolName} returned for call ${id}:`;
}
