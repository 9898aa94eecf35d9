// What compatible servers want back exactly as they sent it: `reasoning_details` (OpenRouter, MiniMax) and, on each call,
// `extra_content` (Gemini's OpenAI endpoint keeps its thought signatures there and answers 400 without them).

import { copyFields, isRecord, textOf, type Json, type NativeTurn, type UnknownRecord } from "../../spi.ts";

/** Reasoning details in the order of the stream, fragments of one detail put together. */
export interface ReasoningDetails {
  /** Takes the entries of one chunk and returns the text that is new in them. */
  add(details: readonly unknown[]): string;
  all(): readonly Json[];
}

type OpenDetail = { [field: string]: Json };

/** Makes an empty collection. Text and summary of one detail come in pieces; its signature and data come whole. */
export function collectReasoningDetails(): ReasoningDetails {
  const details: OpenDetail[] = [];

  function addOne(fragment: UnknownRecord): string {
    const last = details[details.length - 1];
    if (last !== undefined && continues(last, fragment)) extend(last, fragment);
    else details.push(copyFields(fragment));
    return textOf(fragment.text) + textOf(fragment.summary);
  }

  return {
    add: (fragments) => fragments.reduce<string>((text, fragment) => text + (isRecord(fragment) ? addOne(fragment) : ""), ""),
    all: () => details,
  };
}

/** Encrypted details have no text and are never fragments of each other. */
function continues(last: OpenDetail, fragment: UnknownRecord): boolean {
  const isText = typeof last.text === "string" || typeof last.summary === "string";
  return isText && fragment.data === undefined && last.type === fragment.type && last.index === fragment.index;
}

function extend(detail: OpenDetail, fragment: UnknownRecord): void {
  for (const [field, value] of Object.entries(copyFields(fragment))) {
    const before = detail[field];
    const isPiece = field === "text" || field === "summary";
    if (isPiece && typeof before === "string" && typeof value === "string") detail[field] = before + value;
    else if (before === undefined || before === null) detail[field] = value;
  }
}

/** One native part per kind, as `readNative` expects it. */
export function toNativeItems(details: readonly Json[], extras: ReadonlyMap<number, unknown>): readonly Json[] {
  const items: Json[] = [];
  if (details.length > 0) items.push({ reasoning_details: details });
  for (const [position, extra] of extras) items.push({ call: position, extra_content: JSON.parse(JSON.stringify(extra)) });
  return items;
}

/** What a turn carries for the server that wrote it. */
export interface NativeFields {
  readonly reasoningDetails: Json | undefined;
  /** `extra_content` by the position of the call in its turn. */
  readonly extras: ReadonlyMap<number, Json>;
}

/** Reads the native parts of a turn. Parts of another server or model are left out: signatures are not portable. */
export function readNative(
  native: NativeTurn | undefined,
  provider: { readonly id: string; readonly model: string },
): NativeFields {
  let reasoningDetails: Json | undefined;
  const extras = new Map<number, Json>();
  for (const part of native ?? []) {
    if (part.provider !== provider.id || part.model !== provider.model || !isRecord(part.item)) continue;
    const { reasoning_details: details, call, extra_content: extra } = part.item;
    if (details !== undefined) reasoningDetails = details;
    if (typeof call === "number" && extra !== undefined) extras.set(call, extra);
  }
  return { reasoningDetails, extras };
}
