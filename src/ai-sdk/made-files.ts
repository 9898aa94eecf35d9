// Files that a model makes, kept as plain data.

import { encodeBase64, isRecord, type Json, textOf, type UnknownRecord } from "../core/provider-kit.ts";
import type { TurnPart } from "./model-wire.ts";
import type { FileSource } from "./spec-words.ts";

/** A file of a stream as a part that can be kept; undefined where it holds nothing. In v4 its data says what it is. */
export function toFilePart({ type, mediaType, data }: UnknownRecord): TurnPart | undefined {
  const place = toPlace(
    isRecord(data) && !(data instanceof Uint8Array) && !(data instanceof URL) ? (data.data ?? data.url) : data,
  );
  return place === undefined ? undefined : { type: textOf(type), mediaType: textOf(mediaType), ...place };
}

function toPlace(data: unknown): { readonly [field: string]: Json } | undefined {
  if (data instanceof Uint8Array) return { data: encodeBase64(data) };
  if (data instanceof URL) return { url: data.href };
  if (typeof data !== "string" || data === "") return undefined;
  return /^https?:/i.test(data) ? { url: data } : { data };
}

/** Where a kept file is; undefined where that cannot be read. */
export function toFileSource({ url, data }: { readonly url?: unknown; readonly data?: unknown }): FileSource | undefined {
  if (typeof data === "string") return { kind: "base64", data };
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  return { kind: "url", text: url, url: new URL(url) };
}
