// Content that users and tools hand to the model, as parts of the Responses wire.

import type { ContentPart } from "../../spi.ts";
import { toFileName, toMediaUrl } from "./media-url.ts";
import type { InputItem } from "./responses-wire.ts";

/** A user's content: text alone stays a string. */
export function toInputContent(content: string | readonly ContentPart[]): string | readonly InputItem[] {
  if (typeof content === "string") return content;
  const [first] = content;
  if (first === undefined) return "";
  if (content.length === 1 && first.type === "text") return first.text;
  return content.map(toInputPart);
}

/** One part. A file goes by its own URL where it has one, else as a data URL under a made-up name. */
export function toInputPart(part: ContentPart): InputItem {
  if (part.type === "text") return { type: "input_text", text: part.text };
  const url = toMediaUrl(part.data, part.mediaType);
  if (part.type === "image") return { type: "input_image", image_url: url, detail: "auto" };
  if (!/^data:/i.test(url)) return { type: "input_file", file_url: url };
  return { type: "input_file", filename: toFileName(part.mediaType), file_data: url };
}
