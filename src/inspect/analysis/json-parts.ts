// Compares and measures the values in a log. Measures each object only once, because equal long values are usually the same object.

import { isSameJson } from "../../shared/json.ts";
import type { Json } from "../../core/index.ts";

const lengths = new WeakMap<object, number>();

/** Returns the length of a value's JSON text in characters, or 0 for undefined. */
export function jsonLength(value: unknown): number {
  if (value === undefined) return 0;
  if (typeof value !== "object" || value === null) return JSON.stringify(value).length;
  const known = lengths.get(value);
  if (known !== undefined) return known;
  const { length } = JSON.stringify(value);
  lengths.set(value, length);
  return length;
}

/** True if two values have the same JSON text, including the order of keys. */
export function isSameText(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object") return false;
  return jsonLength(one) === jsonLength(other) && JSON.stringify(one) === JSON.stringify(other);
}

/** True if two values are equal except for the order of their keys. */
export function hasOtherKeyOrder(one: unknown, other: unknown): boolean {
  return isSameJson(one as Json, other as Json) && !isSameText(one, other);
}

/** Returns how many characters at the beginning of two values' JSON texts are equal. */
export function sharedLength(one: unknown, other: unknown): number {
  const [left, right] = [JSON.stringify(one) ?? "", JSON.stringify(other) ?? ""];
  return sharedStart(left, right);
}

export function sharedStart(left: string, right: string): number {
  const most = Math.min(left.length, right.length);
  let shared = 0;
  while (shared < most && left.charCodeAt(shared) === right.charCodeAt(shared)) shared += 1;
  return shared;
}
