// What may be said of a foreign value in an error message: its type, and of a short primitive the value.

import { cutText } from "./cut-text.ts";
import { redactSecrets } from "./redact-secrets.ts";

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
