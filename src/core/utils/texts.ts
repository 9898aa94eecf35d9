// Shortened forms and sizes of texts and values.

import type { ModelChunk } from "../types/provider.ts";
import { redactSecrets } from "./redact-secrets.ts";
import type { AssistantMessage, ToolCallPart, ToolResultPart } from "../types/message.ts";

/** Cuts a text to at most `longest` UTF-16 units, followed by "…" if anything was cut. Characters are never split. */
export function cutText(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…` : text;
}

/** Returns a text field of a chunk. Throws if the chunk has none, which is an error of the provider. */
export function textIn<Field extends string>(
  chunk: { readonly type: string } & { readonly [Key in Field]: unknown },
  field: Field,
): string {
  const text: unknown = chunk[field];
  if (typeof text === "string") return text;
  throw new TypeError(`A chunk of type "${chunk.type}" must have a text as "${field}".`);
}

/** Stands for content that is not shown: the model is working. Recognized by identity; its text is empty. */
export const hiddenContent: ModelChunk = { type: "reasoning-delta", text: "" };

/** True if a chunk adds to the answer. Empty texts, token counts and attempt chunks do not. */
export function isContent(chunk: ModelChunk): boolean {
  if ("text" in chunk) return chunk.text !== "" || chunk === hiddenContent;
  return chunk.type !== "usage" && chunk.type !== "attempt-start" && chunk.type !== "attempt-discarded";
}

const longestShown = 24;
const longestQuoted = 64;

/** Only words, numbers and the like are shown. Anything else may be private content. */
const harmless = /^[\w .:+-]*$/;

/**
 * Describes a value, such as `"10"`, `-1`, `an array of 3 items` or `a promise`. Never shows the content of an object, or a text
 * that is long or looks like a credential.
 */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined || typeof value === "boolean") return String(value);
  if (typeof value === "string") return describeText(value);
  if (typeof value === "number") return String(value);
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") return `a ${typeof value}`;
  return describeObject(value);
}

/** A proxy may throw on any access. */
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

/** Control characters beyond ASCII, line separators, direction marks and other invisible characters, which JSON does not escape. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

function escapeUnits(text: string): string {
  return text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function describeText(text: string): string {
  const shown = text.length <= longestShown && harmless.test(text) && redactSecrets(text) === text;
  return shown ? `"${text}"` : `a string of ${text.length} characters`;
}

/**
 * The part of a message that any model can read. Reasoning is left out: without its signature a service rejects it, and another
 * model cannot use it.
 */
export interface PlainMessage {
  /** All of its text, concatenated. */
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

/** True if a tool result is not a failure. A call that restarted the context has succeeded. */
export function hasSucceeded({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return outcome === "completed" || outcome === "restarted";
}

/** Approximate bytes of UTF-8 per token. */
export const bytesPerToken = 4;

/** The size of a text in bytes of UTF-8. Half a surrogate pair counts as the 3 bytes of its replacement character. */
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
    // The second half of a pair is already counted as one of its four bytes.
    if (isPairAt(text, index)) index += 1;
  }
  return bytes;
}

/** The approximate number of tokens of a text: a quarter of its bytes, rounded up. */
export function estimateTokens(text: string): number {
  return tokensOfBytes(countBytes(text));
}

/** The approximate number of tokens for a number of bytes. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** True if a surrogate pair begins at `index`. */
export function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}
