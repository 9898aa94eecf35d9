// Where the bytes of images and files are, as both wires of OpenAI want to be told.

import { schemeOf } from "../../spi.ts";

/** Whether a text is a URL, and not base64. */
export function isUrl(text: string): boolean {
  return schemeOf(text) !== undefined;
}

/** A URL as it is; base64 as a data URL. */
export function toMediaUrl(data: string | URL, mediaType: string): string {
  if (typeof data !== "string") return data.href;
  return isUrl(data) ? data : `data:${mediaType};base64,${data}`;
}

/** The wires want a name with a file; neutral files have none. */
export function toFileName(mediaType: string): string {
  const subtype = /^[\w.+-]+\/(?:x-)?([\w-]{1,32})/.exec(mediaType)?.[1];
  return subtype === undefined ? "file" : `file.${subtype}`;
}
