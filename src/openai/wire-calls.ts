import {
  type ContentPart,
  isOnWeb,
  type Json,
  type MediaPart,
  type ReadableMedia,
  toArgumentsObject,
  toBase64,
  type ToolResultPart,
} from "../core/provider-kit.ts";

/** Text without other parts stays a string, because servers for text models accept nothing else. */
export function toWireContent<Part>(
  content: string | readonly ContentPart[],
  write: (part: ContentPart, index: number) => Part,
): string | readonly Part[] {
  if (typeof content === "string") return content;
  const [first] = content;
  if (first === undefined) return "";
  return content.length === 1 && first.type === "text" ? first.text : content.map(write);
}

export function toDataUrl(media: Exclude<ReadableMedia, { readonly kind: "url" }>): string {
  return `data:${media.mediaType};base64,${toBase64(media)}`;
}

/**
 * Returns undefined for media other than images, and for URLs that a server cannot fetch. Compatible servers support more image
 * types than OpenAI, but no server supports SVG. Base64 data needs an exact media type, not `image/*`.
 */
export function toImageUrl(media: ReadableMedia): string | undefined {
  const { mediaType } = media;
  if (!mediaType.startsWith("image/") || mediaType === "image/svg+xml") return undefined;
  if (media.kind === "url") return isOnWeb(media) ? media.url : undefined;
  return mediaType === "image/*" ? undefined : toDataUrl(media);
}

export function toWireArguments(args: Json): string {
  return JSON.stringify(toArgumentsObject(args));
}

interface SortedResult<Part> {
  readonly text: string;
  readonly media: readonly Part[];
}

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

export function toMediaTitle(toolName: string, id: string): string {
  return `Content that the tool ${toolName} returned for call ${id}:`;
}
