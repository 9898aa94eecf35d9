// Where the bytes of an image or a file are, told by the text that stands for them.

import { encodeBase64 } from "./encode-base64.ts";

/** Base64 has no colon, so that a scheme tells a URL. */
const scheme = /^([a-z][a-z\d+.-]{0,31}):/i;

/** The scheme of a URL, in lower case; undefined for base64. */
export function schemeOf(text: string): string | undefined {
  return scheme.exec(text)?.[1]?.toLowerCase();
}

/** What a data URL holds. */
export interface DataUrl {
  /** As it says itself, else as it was given. */
  readonly mediaType: string;
  /** Base64, or a text; undefined where it cannot be read. */
  readonly data: { readonly kind: "base64" | "text"; readonly text: string } | undefined;
}

/** Reads a URL of the scheme "data". */
export function readDataUrl(url: string, givenType: string): DataUrl {
  const comma = url.indexOf(",");
  const [type = "", ...parameters] = url.slice("data:".length, comma === -1 ? undefined : comma).split(";");
  const mediaType = type === "" ? givenType : type;
  if (comma === -1) return { mediaType, data: undefined };
  const text = url.slice(comma + 1);
  const isBase64 = parameters.some((parameter) => parameter.trim().toLowerCase() === "base64");
  return { mediaType, data: isBase64 ? { kind: "base64", text } : decode(text) };
}

function decode(text: string): DataUrl["data"] {
  try {
    return { kind: "text", text: decodeURIComponent(text) };
  } catch {
    return undefined;
  }
}

/** The bytes of a data URL as base64; undefined where it cannot be read. */
export function toBase64({ data }: DataUrl): string | undefined {
  return data?.kind === "text" ? encodeBase64(new TextEncoder().encode(data.text)) : data?.text;
}

/** A media type without parameters such as a charset, and under its registered name. */
export function normalizeMediaType(mediaType: string): string {
  const bare = (mediaType.split(";")[0] ?? "").trim().toLowerCase();
  return bare === "image/jpg" ? "image/jpeg" : bare;
}

const texts = /^(?:text\/.+|application\/(?:json|xml|yaml|x-yaml|javascript|[\w.-]+\+(?:json|xml)))$/;

/** Whether files of a normalized type are texts. */
export function isTextType(mediaType: string): boolean {
  return texts.test(mediaType);
}
