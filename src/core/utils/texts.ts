import type { ModelChunk } from "../types/provider.ts";
import { redactSecrets } from "./redact-secrets.ts";
import type { AssistantMessage, ToolCallPart, ToolResultPart } from "../types/message.ts";

/** Cuts a text to at most `longest` UTF-16 units, and adds "…" if the text was longer. Never splits a character. */
export function cutText(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…` : text;
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
 * An empty reasoning chunk which says that the model produces content that is not shown. Compare chunks with this object itself,
 * because an equal copy has no such meaning.
 */
export const hiddenContent: ModelChunk = { type: "reasoning-delta", text: "" };

/** True if a chunk adds to the answer. False for empty texts, token counts and attempt chunks. */
export function isContent(chunk: ModelChunk): boolean {
  if ("text" in chunk) return chunk.text !== "" || chunk === hiddenContent;
  return chunk.type !== "usage" && chunk.type !== "attempt-start" && chunk.type !== "attempt-discarded";
}

const longestShown = 24;
const longestQuoted = 64;

/** Matches text that may be shown: words and numbers. Any other text may be private content. */
const harmless = /^[\w .:+-]*$/;

/**
 * Describes a value in words, for example `"10"`, `-1`, `an array of 3 items` or `a promise`. Never shows the content of an
 * object. A string is shown only if it is short, harmless and not a credential.
 */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined || typeof value === "boolean") return String(value);
  if (typeof value === "string") return describeText(value);
  if (typeof value === "number") return String(value);
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") return `a ${typeof value}`;
  return describeObject(value);
}

function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length} ${value.length === 1 ? "item" : "items"}`;
    return value instanceof Promise ? "a promise" : "an object";
  } catch {
    return "an object";
  }
}

/** Quotes an untrusted name, cut to 64 characters. Control characters and invisible characters are escaped. */
export function quote(name: string): string {
  return JSON.stringify(cutText(name, longestQuoted)).replace(unprintable, escapeUnits);
}

/** Invisible characters that JSON does not escape: control characters beyond ASCII, line separators, direction marks and others. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

function escapeUnits(text: string): string {
  return text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function describeText(text: string): string {
  const shown = text.length <= longestShown && harmless.test(text) && redactSecrets(text) === text;
  return shown ? `"${text}"` : `a string of ${text.length} characters`;
}

/**
 * The content of a message that any model can read. Reasoning is omitted, because a service rejects reasoning without its
 * signature, and another model cannot use the reasoning.
 */
export interface PlainMessage {
  /** All text parts of the message, concatenated. */
  readonly text: string;
  readonly calls: readonly ToolCallPart[];
}

/** Returns the text and the calls of an assistant message. */
export function readAssistantMessage({ content }: Pick<AssistantMessage, "content">): PlainMessage {
  let text = "";
  const calls: ToolCallPart[] = [];
  for (const part of content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "tool-call") calls.push(part);
  }
  return { text, calls };
}

/** True if a tool call has succeeded. Also true for a call that restarted the context. */
export function hasSucceeded({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return outcome === "completed" || outcome === "restarted";
}

/** The approximate number of UTF-8 bytes per token. */
export const bytesPerToken = 4;

/**
 * Returns the size of a text in UTF-8 bytes. A single half of a surrogate pair counts as 3 bytes, because encoders replace it
 * with U+FFFD.
 */
export function countBytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    if (unit < 0x800) {
      bytes += 1;
      continue;
    }
    bytes += 2;
    // The second half of a pair needs no count: the pair's four bytes were added at its first half.
    if (isPairAt(text, index)) index += 1;
  }
  return bytes;
}

export function estimateTokens(text: string): number {
  return tokensOfBytes(countBytes(text));
}

export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

export function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}
