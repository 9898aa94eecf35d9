// Keeps data that must be sent back unchanged: `reasoning_details` (OpenRouter, MiniMax) and each call's `extra_content`, without which
// Gemini's OpenAI endpoint returns status 400.

import { copyFields } from "../shared/plain-error.ts";
import { isRecord, textOf } from "../core/kit.ts";
import type { ProviderMetadata } from "../core/types/message.ts";
import { setField, type UnknownRecord } from "../shared/guards.ts";
import type { Json } from "../core/index.ts";

type OpenDetail = { [field: string]: Json };

/**
 * Joins the fragments of reasoning details. A fragment is part of the detail with the same type and index. A fragment without an
 * index is part of the newest detail if both have the same type. The `text` and `summary` fields arrive in pieces, which are joined.
 * For every other field, the newest non-empty value is kept, because gateways send `signature: ""` until the text is complete.
 */
export class ReasoningDetails {
  readonly all: OpenDetail[] = [];
  readonly #byPlace = new Map<string, OpenDetail>();

  /** Returns the text of the fragments. */
  add(fragments: readonly unknown[]): string {
    return fragments.map((fragment) => (isRecord(fragment) ? this.#addOne(fragment) : "")).join("");
  }

  #addOne(fragment: UnknownRecord): string {
    const { type, index } = fragment;
    const place = typeof index === "number" ? JSON.stringify([type, index]) : undefined;
    const begun = place === undefined ? this.all.at(-1) : this.#byPlace.get(place);
    if (begun !== undefined && begun.type === type && continues(begun, fragment, place !== undefined)) extend(begun, fragment);
    else {
      const detail = copyFields(fragment);
      this.all.push(detail);
      if (place !== undefined) this.#byPlace.set(place, detail);
    }
    return textOf(fragment.text) + textOf(fragment.summary);
  }
}

/**
 * True if a fragment continues the `begun` detail. Encrypted data and signatures arrive complete, so a fragment without an index begins a
 * new detail if it has data, or text after a signature.
 */
function continues(begun: OpenDetail, fragment: UnknownRecord, isPlaced: boolean): boolean {
  if (!isPlaced && typeof begun.index === "number") return false;
  if (differ(begun.id, fragment.id) || differ(begun.data, fragment.data)) return false;
  const [hasText, hasMore] = [begun, fragment].map(({ text, summary }) => isSaid(text) || isSaid(summary));
  if (isSaid(fragment.data) && (hasText === true || !isPlaced)) return false;
  const isSigned = isSaid(begun.signature) && begun.signature !== fragment.signature;
  return isPlaced || !(isSigned && hasText === true && hasMore === true);
}

function isSaid(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function differ(one: unknown, other: unknown): boolean {
  return isSaid(one) && isSaid(other) && one !== other;
}

function extend(detail: OpenDetail, fragment: UnknownRecord): void {
  for (const [field, value] of Object.entries(copyFields(fragment))) {
    const before = Object.hasOwn(detail, field) ? detail[field] : undefined;
    const isPiece = field === "text" || field === "summary";
    if (isPiece && typeof before === "string" && typeof value === "string") detail[field] = before + value;
    else if (isSaid(value) || before === undefined) setField(detail, field, value);
  }
}

/**
 * Returns the items to keep. `sources` are an answer's annotations (OpenAI, OpenRouter) and search results (Perplexity), which are never
 * sent back.
 */
export function toChatMetadata(
  details: readonly Json[],
  extras: ReadonlyMap<number, unknown>,
  sources: { readonly [field: string]: readonly unknown[] } = {},
): readonly Json[] {
  const items: Json[] = [];
  if (details.length > 0) items.push({ reasoning_details: details });
  for (const [field, list] of Object.entries(sources)) {
    const kept = list.filter(isRecord).map((entry) => copyFields(entry));
    if (kept.length > 0) items.push({ [field]: kept });
  }
  for (const [position, extra] of extras) items.push({ call: position, extra_content: JSON.parse(JSON.stringify(extra)) });
  return items;
}

export interface MetadataFields {
  readonly reasoningDetails: Json | undefined;
  readonly extras: ReadonlyMap<number, Json>;
  /** The arguments of calls as the service wrote them, by the call's position. Only `fromOpenAIMessages` records them. */
  readonly argumentTexts: ReadonlyMap<number, string>;
}

/**
 * Reads a message's metadata. Ignores metadata from another server or model, because a signature is valid only for the server and model
 * that made it.
 */
export function readChatMetadata(
  providerMetadata: ProviderMetadata | undefined,
  provider: { readonly id: string; readonly model: string },
): MetadataFields {
  let reasoningDetails: Json | undefined;
  const extras = new Map<number, Json>();
  const argumentTexts = new Map<number, string>();
  for (const part of providerMetadata ?? []) {
    if (part.provider !== provider.id || part.model !== provider.model || !isRecord(part.item)) continue;
    const { reasoning_details: details, call, extra_content: extra, arguments: text } = part.item;
    if (details !== undefined) reasoningDetails = details;
    if (typeof call === "number" && extra !== undefined) extras.set(call, extra);
    if (typeof call === "number" && typeof text === "string") argumentTexts.set(call, text);
  }
  return { reasoningDetails, extras, argumentTexts };
}
