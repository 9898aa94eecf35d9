// Content that users and tools hand to the model, as parts of the Chat Completions wire.

import type { ContentPart } from "../../spi.ts";
import type { ChatPart } from "./chat-wire.ts";
import { isUrl, toFileName, toMediaUrl } from "./media-url.ts";

/** A user's content: text alone stays a string, because servers for text models take nothing else. */
export function toUserContent(content: string | readonly ContentPart[]): string | readonly ChatPart[] {
  if (typeof content === "string") return content;
  const [first] = content;
  if (first === undefined) return "";
  if (content.length === 1 && first.type === "text") return first.text;
  return content.map(toChatPart);
}

/** One part. Audio goes as `input_audio` where the wire knows its format; any other file as a data URL, or by its own URL. */
export function toChatPart(part: ContentPart): ChatPart {
  if (part.type === "text") return { type: "text", text: part.text };
  if (part.type === "image") return { type: "image_url", image_url: { url: toMediaUrl(part.data, part.mediaType) } };
  const format = audioFormats.get(part.mediaType.toLowerCase());
  const audio = format === undefined ? undefined : toBase64(part.data);
  if (format !== undefined && audio !== undefined) return { type: "input_audio", input_audio: { data: audio, format } };
  return { type: "file", file: { filename: toFileName(part.mediaType), file_data: toMediaUrl(part.data, part.mediaType) } };
}

const audioFormats: ReadonlyMap<string, "wav" | "mp3"> = new Map([
  ["audio/wav", "wav"],
  ["audio/wave", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
]);

/** The base64 of data or of a data URL; undefined where the content is elsewhere. */
function toBase64(data: string | URL): string | undefined {
  const text = typeof data === "string" ? data : data.href;
  if (!isUrl(text)) return text;
  const [head = "", ...rest] = text.split(",");
  return /^data:[^,]*;base64$/i.test(head) ? rest.join(",") : undefined;
}
