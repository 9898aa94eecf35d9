// Content that users and tools hand to the model, as parts of the Chat Completions wire.

import {
  isTextType,
  type MediaForms,
  type MediaPart,
  readText,
  toBase64,
  writeToolMedia,
  writeUserMedia,
} from "../core/provider-kit.ts";
import type { ContentPart, MediaPlace, ReadableMedia } from "../core/provider-kit.ts";
import type { ChatPart } from "./chat-wire.ts";
import { toDataUrl, toImageUrl } from "./media-url.ts";

/**
 * A user's content: text alone stays a string, because servers for text models take nothing else. Throws a ProviderError `bad-request`
 * for what the wire has no form for.
 */
export function toUserContent(
  content: string | readonly ContentPart[],
  place: Omit<MediaPlace, "part">,
): string | readonly ChatPart[] {
  if (typeof content === "string") return content;
  const [first] = content;
  if (first === undefined) return "";
  if (content.length === 1 && first.type === "text") return first.text;
  return content.map((part, index) =>
    part.type === "text" ? { type: "text", text: part.text } : writeUserMedia(part, chatMedia, { ...place, part: index }),
  );
}

/** What a tool has returned beside its result: a text, or a part that is none. */
export function toResultMedia(part: MediaPart): ChatPart | string {
  const written = writeToolMedia(part, chatMedia);
  return typeof written === "object" && written.type === "text" ? written.text : written;
}

/** @see https://developers.openai.com/api/docs/guides/file-inputs: files are PDFs, and of other files one is to send the text. */
const chatMedia: MediaForms<ChatPart> = {
  takes: "images in base64 or at https: or http: URLs, and in base64 PDFs, texts in UTF-8 and sounds as WAV or MP3",
  write(media) {
    const url = toImageUrl(media);
    if (url !== undefined) return { type: "image_url", image_url: { url } };
    return media.kind === "url" ? undefined : toFile(media);
  },
};

function toFile(media: Exclude<ReadableMedia, { readonly kind: "url" }>): ChatPart | undefined {
  const { mediaType } = media;
  const format = audioFormats.get(mediaType);
  if (format !== undefined) return { type: "input_audio", input_audio: { data: toBase64(media), format } };
  if (mediaType === "application/pdf") return { type: "file", file: { filename: "file.pdf", file_data: toDataUrl(media) } };
  const text = isTextType(mediaType) ? readText(media) : undefined;
  return text === undefined ? undefined : { type: "text", text: `File of type ${mediaType}:\n${text}` };
}

const audioFormats: ReadonlyMap<string, "wav" | "mp3"> = new Map([
  ["audio/wav", "wav"],
  ["audio/wave", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/mpeg", "mp3"],
  ["audio/mp3", "mp3"],
]);
