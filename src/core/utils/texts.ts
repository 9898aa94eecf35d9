// Short forms and sizes of texts and values.

import type { ModelChunk } from "../types/provider.ts";
import { redactSecrets } from "./redact-secrets.ts";
import type { AssistantMessage, ToolCallPart, ToolResultPart } from "../types/message.ts";

/** At most `longest` UTF-16 units of a text, with "…" where something was cut; never half a character. */
export function cutText(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, "")}…` : text;
}

/** The text of a chunk's field. Throws where it has none: that is the provider's mistake. */
export function textIn<Field extends string>(
  chunk: { readonly type: string } & { readonly [Key in Field]: unknown },
  field: Field,
): string {
  const text: unknown = chunk[field];
  if (typeof text === "string") return text;
  throw new TypeError(`A chunk of type "${chunk.type}" must have a text as "${field}".`);
}

/** In place of content that nobody hears: the model works. It is known by identity, and says nothing. */
export const hiddenContent: ModelChunk = { type: "reasoning-delta", text: "" };

/** Whether a chunk adds to the answer. Empty texts, token counts and news of attempts do not. */
export function isContent(chunk: ModelChunk): boolean {
  if ("text" in chunk) return chunk.text !== "" || chunk === hiddenContent;
  return chunk.type !== "usage" && chunk.type !== "attempt-start" && chunk.type !== "attempt-discarded";
}

const longestShown = 24;
const longestQuoted = 64;

/** Only words, numbers and the like are shown; anything else may be content that must stay where it is. */
const harmless = /^[\w .:+-]*$/;

/**
 * Says what a value is, such as `"10"`, `-1`, `an array of 3 items` or `a promise`. Never the content of an object, and
 * nothing of a text that is long or looks like a credential.
 */
export function describeValue(value: unknown): string {
  if (value === null || value === undefined || typeof value === "boolean") return String(value);
  if (typeof value === "string") return describeText(value);
  if (typeof value === "number") return String(value);
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") return `a ${typeof value}`;
  return describeObject(value);
}

/** A proxy may refuse to be looked at. */
function describeObject(value: object): string {
  try {
    if (Array.isArray(value)) return `an array of ${value.length} ${value.length === 1 ? "item" : "items"}`;
    return value instanceof Promise ? "a promise" : "an object";
  } catch {
    return "an object";
  }
}

/** Puts a foreign name in quotes, cut to 64 characters. What a terminal would obey, or not show, is escaped. */
export function quote(name: string): string {
  return JSON.stringify(cutText(name, longestQuoted)).replace(unprintable, escapeUnits);
}

/** Controls beyond ASCII, line separators, direction marks and other characters without a shape. JSON leaves them as they are. */
const unprintable = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

function escapeUnits(text: string): string {
  return text.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

function describeText(text: string): string {
  const shown = text.length <= longestShown && harmless.test(text) && redactSecrets(text) === text;
  return shown ? `"${text}"` : `a string of ${text.length} characters`;
}

/** The part of a message that any model can read: reasoning without its signature is refused, or means nothing to another one. */
export interface PlainTurn {
  /** All of its text, put together. */
  readonly text: string;
  readonly calls: readonly ToolCallPart[];
}

/** Returns the text and the calls of an assistant message. */
export function readTurn({ content }: Pick<AssistantMessage, "content">): PlainTurn {
  let text = "";
  const calls: ToolCallPart[] = [];
  for (const part of content) {
    if (part.type === "text") text += part.text;
    else if (part.type === "tool-call") calls.push(part);
  }
  return { text, calls };
}

/** True if a tool result is no failure. A call that restarted the context has succeeded. */
export function hasSucceeded({ outcome }: Pick<ToolResultPart, "outcome">): boolean {
  return outcome === "completed" || outcome === "restarted";
}

/** Bytes of UTF-8 in a token, about. */
export const bytesPerToken = 4;

/** The size of a text in bytes of UTF-8; half a surrogate pair counts as the 3 bytes of its replacement character. */
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
    // The second half of a pair was counted as one byte of its four.
    if (isPairAt(text, index)) index += 1;
  }
  return bytes;
}

/** About how many tokens a text is: a quarter of its bytes, rounded up. */
export function estimateTokens(text: string): number {
  return tokensOfBytes(countBytes(text));
}

/** The same for a text whose bytes are counted. */
export function tokensOfBytes(bytes: number): number {
  return Math.ceil(bytes / bytesPerToken);
}

/** Whether a surrogate pair begins at `index`. */
export function isPairAt(text: string, index: number): boolean {
  return (text.codePointAt(index) ?? 0) > 0xffff;
}
