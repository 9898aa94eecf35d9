import { edges } from "./edges.ts";
import { quote } from "./texts.ts";

const maxShownLength = 24;
const harmless = /^[\w .:+-]*$/;

/**
 * Describes a value, for example as `"10"`, `-1`, `an array of 3 items` or `a promise`. Never shows the content of an object. Shows a
 * string only if it is short, harmless and not a credential.
 */
export function putInWords(value: unknown): string {
  if (value === null || value === undefined || typeof value === "boolean") return String(value);
  if (typeof value === "string") return describeText(value);
  if (typeof value === "number") return String(value);
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") return `a ${typeof value}`;
  if (Array.isArray(value)) return `an array of ${value.length} ${value.length === 1 ? "item" : "items"}`;
  return value instanceof Promise ? "a promise" : "an object";
}

function describeText(text: string): string {
  const shown = text.length <= maxShownLength && harmless.test(text) && edges.redactText(text, maxShownLength) === text;
  return shown ? `"${text}"` : `a string of ${text.length} characters`;
}

const lossyKinds: { readonly [kind: string]: string } = {
  Promise: "a promise, which has to be awaited first",
  Response: "a Response, whose body has to be read first, for example with `await response.json()`",
  stream: "a generator or a stream, which has to be read to its end first",
};

/** Says what to do with a tool's result that JSON would reduce to nothing. Undefined if there is no advice. */
export function adviseLossy(kind: string): string | undefined {
  return lossyKinds[kind];
}

const tags = ["type", "kind", "code"] as const;

/** Describes an unexpected value. Shows only an object's `type`, `kind` or `code`. */
export function describeUnexpected(value: unknown): string {
  if (typeof value === "string") return `value ${quote(value)}`;
  if (typeof value !== "object" || value === null) return `value of type ${value === null ? "null" : typeof value}`;
  for (const tag of tags) {
    const found: unknown = Reflect.get(value, tag);
    if (typeof found === "string") return `${tag} ${quote(found)}`;
  }
  return "object";
}
