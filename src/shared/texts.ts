import type { ModelChunk } from "../core/types/provider.ts";
import { edges } from "./edges.ts";

/** Cuts a string to at most `longest` UTF-16 code units without splitting a character. Adds "…" if it was cut. */
export function cutText(text: string, longest: number): string {
  return text.length > longest ? `${takeStart(text, longest)}…` : text;
}

/** Returns at most the first `longest` UTF-16 code units of a string, without splitting a character. */
export function takeStart(text: string, longest: number): string {
  return text.length > longest ? text.slice(0, longest).replace(/[\ud800-\udbff]$/, "") : text;
}

/** Writes text from outside on one line of at most `longest` UTF-16 code units. Replaces control characters and invisible ones with spaces. */
export function toLine(text: string, longest: number): string {
  // Truncates the text before replacing characters, because it may be very long.
  const start = takeStart(text, longest * 4);
  const line = start.replace(/[\s\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}]+/gu, " ").trim();
  return cutText(start.length < text.length ? `${line}…` : line, longest);
}

export function textIn<Field extends string>(
  chunk: { readonly type: string } & { readonly [Key in Field]: unknown },
  field: Field,
): string {
  const text: unknown = chunk[field];
  if (typeof text === "string") return text;
  throw new TypeError(`The field "${field}" of a "${chunk.type}" chunk must be a string.`);
}

/**
 * A chunk that stands for content that the model produced but that is not shown. Compare it by identity, because other chunks may look the
 * same.
 */
export const hiddenContent: ModelChunk = { type: "reasoning-delta", text: "" };

const bookkeeping: ReadonlySet<ModelChunk["type"]> = new Set(["usage", "request-adjusted", "attempt-start", "attempt-discarded"]);

/** True if a chunk adds to the answer. False for empty text, token counts, and the start or end of an attempt. */
export function isContent(chunk: ModelChunk): boolean {
  if ("text" in chunk) return chunk.text !== "" || chunk === hiddenContent;
  return !bookkeeping.has(chunk.type);
}

const maxQuotedLength = 64;

/** Describes a value for error messages, without its content. In a small bundle without the full messages, names only its type. */
export function describeValue(value: unknown): string {
  return edges.describeValue?.(value) ?? (value === null ? "null" : typeof value);
}

/** Quotes an untrusted name, cut to 64 characters. Escapes control characters and invisible characters. */
export function quote(name: string): string {
  return JSON.stringify(cutText(name, maxQuotedLength)).replace(unprintable, escapeUnits);
}

/**
 * Characters that JSON does not escape: control characters beyond ASCII, line separators, direction marks and other invisible characters.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

function escapeUnits(text: string): string {
  return text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
