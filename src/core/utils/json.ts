// Copies, compares and writes plain data. The values of tools and the records of journals may contain anything.

import type { Json } from "../types/common.ts";
import { setField } from "./guards.ts";

/** Parses a text as JSON. Returns undefined if the text is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Freezes plain data deeply, and returns the same data. Skips the content of an object that is already frozen, so pass only
 * copies.
 */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  if (Array.isArray(value)) for (const item of value) freezeDeep(item);
  else for (const key in value) if (Object.hasOwn(value, key)) freezeDeep(value[key]);
  return value;
}

type Value = Json | undefined;

/** True if two values are equal as JSON. The order of keys does not matter, and keys with the value undefined are ignored. */
export function isSameJson(one: Value, other: Value): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (isList(one) || isList(other)) {
    return (
      isList(one) && isList(other) && one.length === other.length && one.every((item, index) => isSameJson(item, other[index]))
    );
  }
  return isSameRecord(one, other);
}

type Values = { readonly [key: string]: Value };

function isSameRecord(one: Values, other: Values): boolean {
  let count = 0;
  for (const key of Object.keys(one)) {
    if (one[key] === undefined) continue;
    if (!Object.hasOwn(other, key) || !isSameJson(one[key], other[key])) return false;
    count += 1;
  }
  return count === Object.keys(other).filter((key) => other[key] !== undefined).length;
}

/** This function exists because `Array.isArray` does not narrow read-only arrays. */
function isList(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

/** The maximum depth of a value: enough for any data, and far below the depth at which JSON.stringify overflows the stack. */
const deepestLevel = 1_000;

/**
 * Copies a value to plain data. The result equals `JSON.parse(JSON.stringify(value))`: `toJSON` methods are called, and values
 * that JSON cannot represent are dropped from objects and become null in arrays. NaN and the infinities become null. A key
 * "__proto__" is copied like any other key.
 *
 * Throws a TypeError that names the problem:
 *
 * - "a cyclic value", "a BigInt"
 * - "a value nested too deeply": more than 1,000 levels
 * - "a value of more than 268,435,456 characters as JSON"
 * - "a value of more than 10,000,000 parts": parts are values at any depth; an object that occurs several times is counted
 *   each time
 * - "undefined", "a function" or "a symbol", if `value` itself is one
 *
 * Errors from a getter or a `toJSON` method are thrown unchanged. `headroom` allows that many more levels.
 *
 * @example toJson({ at: new Date(0), then: undefined }) // { at: "1970-01-01T00:00:00.000Z" }
 */
export function toJson(value: unknown, headroom = 0): Json {
  const copied = copyOrExplain(value, headroom);
  if (copied !== undefined) return copied;
  const kind = typeof value;
  throw new TypeError(kind === "function" || kind === "symbol" ? `a ${kind}` : "undefined");
}

type Copied = Json | undefined;
type Fields = { readonly [key: string]: unknown };

/**
 * The maximum length of a value as JSON text, in UTF-16 units: half of the maximum length of a string, because other texts
 * contain this text.
 */
const longestJson = 2 ** 28;

/**
 * If the estimated size of a value is at most this number of units, the value is never too long, because its JSON text has at
 * most 6 times as many units. One character of a string takes at most 6 units in JSON. Every value other than a string takes at
 * most 30 units, and is estimated as `leastUnits`.
 */
const mostUnits = longestJson / 6;
const leastUnits = 5;

/**
 * The estimated size of the value that is being copied. The copy itself adds to this number, because a second pass would double
 * the time.
 */
let units = 0;

/**
 * The maximum number of values within a value. Copying this many values takes about two seconds.
 */
const mostParts = 10_000_000;

let parts = 0;

const tooMany = "a value of more than 10,000,000 parts";

const tooLong = "a value of more than 268,435,456 characters as JSON";

function assertShort(value: Copied): void {
  let length = 0;
  try {
    length = JSON.stringify(value)?.length ?? 0;
  } catch {
    length = Number.POSITIVE_INFINITY;
  }
  if (length > longestJson) throw new TypeError(tooLong);
}

const tooDeep = "a value nested too deeply";

/** Searches for a cycle only after a failure, because the search would double the time of each copy. */
function copyOrExplain(value: unknown, headroom: number): Copied {
  units = 0;
  parts = 0;
  try {
    const copied = copyValue(value, "", -headroom);
    if (units > mostUnits) assertShort(copied);
    return copied;
  } catch (error) {
    if (!(error instanceof TypeError) || error.message !== tooDeep) throw error;
    throw new TypeError(isCyclic(value, 0, new Map()) ? "a cyclic value" : tooDeep);
  }
}

function copyValue(value: unknown, key: string | number, depth: number): Copied {
  if (typeof value === "string") {
    units += value.length + leastUnits;
    return value;
  }
  units += leastUnits;
  if (typeof value === "boolean" || value === null) return value;
  // Adding 0 turns -0 into 0, as JSON does.
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (value === undefined || typeof value === "symbol") return undefined;
  // The bytes are counted before they are copied, because the copy takes much memory.
  if (ArrayBuffer.isView(value)) countParts(value.byteLength);
  return copyAnswer(hasToJson(value) ? value.toJSON(String(key)) : value, depth);
}

/** Copies a value without calling `toJSON`, because the value has no such method or was returned by one. */
function copyAnswer(value: unknown, depth: number): Copied {
  if (typeof value === "object" && value !== null) return copyObject(value, depth + 1);
  if (typeof value === "bigint") throw new TypeError("a BigInt");
  return typeof value === "function" ? undefined : copyValue(value, "", depth);
}

function copyObject(value: object, depth: number): Copied {
  if (depth > deepestLevel) throw new TypeError(tooDeep);
  if (Array.isArray(value)) return copyArray(value, depth);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null && isBoxed(value)) return copyValue(value.valueOf(), "", depth);
  return copyRecord(value as Fields, depth);
}

/** Counts parts, and throws if there are too many. Call this function before memory is allocated for the parts. */
function countParts(count: number): void {
  parts += count;
  if (parts > mostParts) throw new TypeError(tooMany);
}

function copyArray(values: readonly unknown[], depth: number): Json {
  countParts(values.length);
  const copy = new Array<Json>(values.length);
  for (let index = 0; index < values.length; index++) copy[index] = copyValue(values[index], index, depth) ?? null;
  return copy;
}

function copyRecord(value: Fields, depth: number): Json {
  const copy: { [key: string]: Json } = {};
  const keys = Object.keys(value);
  countParts(keys.length);
  for (const key of keys) {
    const field = copyValue(value[key], key, depth);
    if (field === undefined) continue;
    units += key.length;
    setField(copy, key, field);
  }
  return copy;
}

function hasToJson(value: object | bigint): value is { toJSON(key: string): unknown } {
  return typeof (value as { readonly toJSON?: unknown }).toJSON === "function";
}

function isBoxed(value: object): boolean {
  return value instanceof Number || value instanceof String || value instanceof Boolean || value instanceof BigInt;
}

/** True if a value contains itself. Visits each object once. "open" means that the object contains the current value. */
function isCyclic(value: unknown, depth: number, seen: Map<object, "open" | "closed">): boolean {
  if (typeof value !== "object" || value === null || depth > deepestLevel) return false;
  const mark = seen.get(value);
  if (mark !== undefined) return mark === "open";
  seen.set(value, "open");
  const found = Object.values(value).some((field) => isCyclic(field, depth + 1, seen));
  seen.set(value, "closed");
  return found;
}

/** Extra levels for `stableJson`, because copied values may be nested in messages and lists. */
const envelope = 32;

/**
 * Converts a value to JSON text. The keys of each object are sorted by UTF-16 code unit, so that equal data gives equal text. The
 * value is first copied with `toJson`, whose errors are thrown.
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

/** All levels add to one list. Returning a text for each level would copy the inner text again and again. */
function write(value: Json | undefined, pieces: string[]): void {
  if (typeof value !== "object" || value === null) {
    pieces.push(JSON.stringify(value));
    return;
  }
  if (isList(value)) {
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

/**
 * Returns a 53-bit hash of a text as 14 hexadecimal digits. The result is the same on every platform. The hash detects accidental
 * differences. It is not secure: a deliberate search can find two texts with the same digest.
 */
export function digest(text: string): string {
  // Two numbers of 32 bits. Each is multiplied with a constant of its own and mixed into the other.
  let low = 0x2545f491 ^ text.length;
  let high = 0x9e3779b9;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = (Math.imul(rotate(low ^ unit, 15), 0x85ebca6b) + high) | 0;
    high = Math.imul(rotate(high ^ unit, 13), 0xc2b2ae35) ^ low;
  }
  low = scatter(low ^ (high >>> 11));
  high = scatter(high ^ low);
  // 21 bits of `high` and the 32 bits of `low` make 53 bits, which a number represents exactly.
  return ((high >>> 11) * 2 ** 32 + (low >>> 0)).toString(16).padStart(14, "0");
}

function rotate(bits: number, by: number): number {
  return (bits << by) | (bits >>> (32 - by));
}

function scatter(bits: number): number {
  const once = Math.imul(bits ^ (bits >>> 16), 0x7feb352d);
  const twice = Math.imul(once ^ (once >>> 15), 0x846ca68b);
  return twice ^ (twice >>> 16);
}

export function isPlainData(value: unknown): boolean {
  try {
    toJson(value);
    return true;
  } catch {
    return false;
  }
}
