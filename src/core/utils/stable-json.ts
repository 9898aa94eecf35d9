// One text for one value, whatever the order of its keys, and a short digest of a text. For comparing, never for secrecy.

import type { Json } from "../types/json.ts";
import { toJson } from "./to-json.ts";

/** Values that have been copied before are written inside of messages and lists. */
const envelope = 32;

/**
 * Writes a value as JSON with the keys of each object sorted by UTF-16 code unit, so that equal data gives equal text. Reads
 * the value as `toJson` does, and throws what `toJson` throws.
 *
 * @example stableJson({ b: 1, a: [true] }) // '{"a":[true],"b":1}'
 */
export function stableJson(value: unknown): string {
  const copy = toJson(value, envelope);
  if (typeof copy !== "object" || copy === null) return JSON.stringify(copy);
  const pieces: string[] = [];
  write(copy, pieces);
  return pieces.join("");
}

/** Writes into one list, because a text for each level would copy the text of the levels in it. `toJson` has bounded the depth. */
function write(value: Json | undefined, pieces: string[]): void {
  if (typeof value !== "object" || value === null) {
    pieces.push(JSON.stringify(value));
    return;
  }
  if (isArray(value)) {
    pieces.push("[");
    for (const [index, item] of value.entries()) {
      if (index > 0) pieces.push(",");
      write(item, pieces);
    }
    pieces.push("]");
    return;
  }
  pieces.push("{");
  for (const [index, key] of Object.keys(value).sort().entries()) {
    pieces.push(`${index > 0 ? "," : ""}${JSON.stringify(key)}:`);
    write(value[key], pieces);
  }
  pieces.push("}");
}

/** Array.isArray does not narrow readonly arrays. */
function isArray(value: object): value is readonly Json[] {
  return Array.isArray(value);
}

/**
 * A 53-bit hash of a text as 14 hexadecimal digits. Synchronous and the same on every platform. It tells apart texts that
 * differ by accident; it does not resist someone who looks for two texts with one digest.
 */
export function digest(text: string): string {
  // Two lanes of 32 bits, each multiplied by its own odd constant and stirred into the other, so that no bit stays where it was.
  let low = 0x2545f491 ^ text.length;
  let high = 0x9e3779b9;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = (Math.imul(rotate(low ^ unit, 15), 0x85ebca6b) + high) | 0;
    high = Math.imul(rotate(high ^ unit, 13), 0xc2b2ae35) ^ low;
  }
  low = scatter(low ^ (high >>> 11));
  high = scatter(high ^ low);
  // 21 of the 32 upper bits: together with the lower lane as many as a number holds exactly.
  return ((high >>> 11) * 2 ** 32 + (low >>> 0)).toString(16).padStart(14, "0");
}

function rotate(bits: number, by: number): number {
  return (bits << by) | (bits >>> (32 - by));
}

/** Spreads each input bit over all 32. */
function scatter(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b);
  return twice ^ (twice >>> 16);
}
