// Media and tool calls, as both wires of OpenAI write them.

import {
  isOnWeb,
  type Json,
  type MediaPart,
  type ReadableMedia,
  toArgumentsObject,
  toBase64,
  type ToolResultPart,
} from "../core/provider-kit.ts";

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

/** The text of arguments, which servers read back. */
export function toWireArguments(args: Json): string {
  return JSON.stringify(toArgumentsObject(args));
}

/** The texts of a result, its own first, and its other parts. */
interface SortedResult<Part> {
  readonly text: string;
  readonly media: readonly Part[];
}

/** Puts the texts of a result together, one a line; `write` may make one of an image or a file. */
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

/** The text before images and files that go in a message of their own. */
export function toMediaTitle(toolName: string, id: string): string {
  return `Content that the tool ${toolName} returned for call ${id}:`;
}
