import {
  type ContentPart,
  encodeBase64,
  isOnWeb,
  isRecord,
  locateMedia,
  quote,
  textOf,
  textOrNone,
  type ToolResult,
  toolResult,
  type ToolResultFields,
  type UnknownRecord,
} from "../core/entry-kit.ts";

export function toContentResult(blocks: readonly unknown[], more: ToolResultFields = {}): ToolResult {
  const parts = blocks.flatMap(toParts);
  const texts = parts.flatMap((part) => (part.type === "text" ? [part.text] : []));
  const content = parts.filter((part) => part.type !== "text");
  return toolResult({
    ...more,
    ...(texts.length === 0 ? {} : { data: texts.join("\n") }),
    ...(content.length === 0 ? {} : { content }),
  });
}

/** A block that cannot be converted, such as a file id of a provider, becomes a text with the type of the block. */
function toParts(block: unknown): readonly ContentPart[] {
  if (typeof block === "string") return [{ type: "text", text: block }];
  if (!isRecord(block)) return [];
  const text = textIn(block);
  if (text !== undefined) return [{ type: "text", text }];
  const inner = nestedBlocks(block);
  if (inner !== undefined) return inner.flatMap(toParts);
  return [toMedia(block) ?? { type: "text", text: `(a part of type ${quote(String(block["type"]))} that cannot be shown here)` }];
}

function textIn({ type, text, source, data }: UnknownRecord): string | undefined {
  if (type === "text" || type === "input_text" || type === "output_text" || type === "text-plain") return textOrNone(text);
  for (const holder of [source, data]) {
    if (isRecord(holder) && holder["type"] === "text") return textOrNone(holder["data"] ?? holder["text"]);
  }
  return undefined;
}

function nestedBlocks({ type, content, source, title }: UnknownRecord): readonly unknown[] | undefined {
  const held = isRecord(source) && source["type"] === "content" ? source["content"] : content;
  if (typeof held === "string") return [held];
  if (!Array.isArray(held)) return undefined;
  const blocks: readonly unknown[] = held;
  return type === "search_result" ? [`${String(title)} (${String(source)})`, ...blocks] : blocks;
}

function toMedia(block: UnknownRecord): ContentPart | undefined {
  const holders = holdersOf(block);
  const data = holders.map(bytesOrAddress).find((found) => found !== undefined);
  if (data === undefined) return undefined;
  const isImage = typeof block["type"] === "string" && block["type"].includes("image");
  const said = holders.map(mediaTypeOf).find((found) => found !== undefined) ?? mediaTypeInUrl(data);
  const mediaType = said ?? (isImage ? "image/*" : "application/octet-stream");
  return {
    type: mediaType.startsWith("image") ? "image" : "file",
    mediaType: mediaType === "image" ? "image/*" : mediaType,
    data,
  };
}

function holdersOf(block: UnknownRecord): readonly UnknownRecord[] {
  const inner = ["source", "image", "file", "image_url", "data"].flatMap((field) => {
    const value = block[field];
    if (isRecord(value) && !(value instanceof Uint8Array) && !(value instanceof URL)) return [value];
    return typeof value === "string" && field !== "data" ? [{ url: value }] : [];
  });
  return [...inner, block];
}

function bytesOrAddress({ data, url, imageUrl, fileData, fileUrl }: UnknownRecord): string | undefined {
  for (const value of [data, url, imageUrl, fileData, fileUrl]) {
    if (value instanceof Uint8Array) return encodeBase64(value);
    const text = value instanceof URL ? value.href : textOf(value);
    if (text !== "" && isOpen(text)) return text;
  }
  return undefined;
}

/**
 * False for a URL that is not http or https, such as "gs:". The model's service would read the content at that URL with the
 * permissions of the service.
 */
function isOpen(data: string): boolean {
  const source = locateMedia({ type: "file", mediaType: "", data });
  return source.kind !== "url" || isOnWeb(source);
}

function mediaTypeOf({ mediaType, media_type, mime_type, mimeType }: UnknownRecord): string | undefined {
  return [mediaType, media_type, mime_type, mimeType].map(textOrNone).find((found) => found !== undefined && found !== "");
}

function mediaTypeInUrl(data: string): string | undefined {
  return /^data:([\w.+-]+\/[\w.+-]+)/.exec(data.slice(0, 200))?.[1];
}
