// Plain data: copied, compared, frozen and written as JSON.

import type { Json } from "../types/json.ts";
import { setField } from "./guards.ts";

/** Parses a text as JSON. Undefined if it is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Freezes plain data deeply, and returns it. A frozen object is assumed to be frozen deeply already, so pass only your own copies. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  if (Array.isArray(value)) for (const item of value) freezeDeep(item);
  else for (const key of Object.keys(value)) freezeDeep((value as { readonly [key: string]: unknown })[key]);
  return value;
}

type Value = Json | undefined;

/** True if two values are equal as JSON. The order of keys does not matter, and a key with the value undefined counts as absent. */
export function isSameJson(one: Value, other: Value): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (isList(one) || isList(other)) {
    return (
      isList(one) && isList(other) && one.length === other.length && one.every((item, index) => isSameJson(item, other[index]))
    );
  }
  const keys = definedKeys(one);
  return (
    keys.length === definedKeys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  );
}

/** `Array.isArray` does not narrow read-only arrays. */
function isList(value: unknown): value is readonly Json[] {
  return Array.isArray(value);
}

function definedKeys(value: { readonly [key: string]: Value }): readonly string[] {
  return Object.keys(value).filter((key) => value[key] !== undefined);
}

/** Enough for any data, and far below the depth at which JSON.stringify overflows the stack. */
const deepestLevel = 1_000;

/**
 * Copies a value to plain data, with the result of `JSON.parse(JSON.stringify(value))`. `toJSON` is called. Values that JSON
 * cannot represent are dropped from objects and become null in arrays. NaN and the infinities become null. An own key "__proto__"
 * stays data.
 *
 * Throws a TypeError that names the problem:
 *
 * - "a cyclic value", "a BigInt"
 * - "a value nested too deeply": more than 1,000 levels
 * - "a value of more than 268,435,456 characters as JSON"
 * - "a value of more than 10,000,000 parts": counts holes of a sparse list, and repeated parts each time
 * - "undefined", "a function" or "a symbol", as the whole value
 *
 * Errors of a getter or a `toJSON` are thrown unchanged. `headroom` allows that many more levels.
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

/** Longest JSON text of a value, in UTF-16 units. Half of the longest string, because it is written into other texts. */
const longestJson = 2 ** 28;

/** A character may take six units in JSON, and any other value up to 30. Below this size a value cannot be too long. */
const mostUnits = longestJson / 6;
const leastUnits = 5;

/** The size of the value that is being copied. Counted here, because a second walk would double the time of a copy. */
let units = 0;

/** Most values within a value; copying them takes about two seconds. A sparse list of four numbers may have billions of holes. */
const mostParts = 10_000_000;

/** The number of values copied so far. */
let parts = 0;

const tooMany = "a value of more than 10,000,000 parts";

const tooLong = "a value of more than 268,435,456 characters as JSON";

/** Throws if the value, which is already plain, is too long. */
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

/**
 * Copies a value, and explains a failure. It only searches for a cycle after a failure, because a search for each copy would
 * double its time.
 */
function copyOrExplain(value: unknown, headroom: number): Copied {
  // A `toJSON` may itself copy values.
  const outer = units;
  const outerParts = parts;
  units = 0;
  parts = 0;
  try {
    const copied = copyValue(value, "", -headroom);
    if (units > mostUnits) assertShort(copied);
    return copied;
  } catch (error) {
    if (isStackOverflow(error)) throw new TypeError(tooDeep);
    if (!(error instanceof TypeError) || error.message !== tooDeep) throw error;
    throw new TypeError(isCyclic(value, 0, new Map()) ? "a cyclic value" : tooDeep);
  } finally {
    units += outer;
    parts += outerParts;
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
  // Counted before a buffer creates a list of its bytes.
  if (ArrayBuffer.isView(value)) countParts(value.byteLength);
  return copyAnswer(hasToJson(value) ? value.toJSON(String(key)) : value, depth);
}

/** Copies the result of a `toJSON`, or a value without one. `toJSON` is not called again. */
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

/** Counts parts before memory is allocated for them. */
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

function isStackOverflow(error: unknown): boolean {
  return error instanceof RangeError && error.message.includes("call stack");
}

/** Walks each object once. "open" marks the objects around the current one. */
function isCyclic(value: unknown, depth: number, seen: Map<object, "open" | "closed">): boolean {
  if (typeof value !== "object" || value === null || depth > deepestLevel) return false;
  const mark = seen.get(value);
  if (mark !== undefined) return mark === "open";
  seen.set(value, "open");
  const found = Object.values(value).some((field) => isCyclic(field, depth + 1, seen));
  seen.set(value, "closed");
  return found;
}

/** Extra levels, because copied values are also written as parts of messages and lists. */
const envelope = 32;

/**
 * Writes a value as JSON with the keys of each object sorted by UTF-16 code unit, so that equal data gives equal text. Reads the
 * value like `toJson`, and throws the same errors.
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

/** Writes into one list, because a text per level would copy the text of the levels inside it. `toJson` has limited the depth. */
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
 * Returns a 53-bit hash of a text as 14 hexadecimal digits. Synchronous, and the same on every platform. It detects accidental
 * differences, but does not resist a deliberate search for two texts with the same digest.
 */
export function digest(text: string): string {
  // Two lanes of 32 bits. Each is multiplied by its own odd constant and mixed into the other.
  let low = 0x2545f491 ^ text.length;
  let high = 0x9e3779b9;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = (Math.imul(rotate(low ^ unit, 15), 0x85ebca6b) + high) | 0;
    high = Math.imul(rotate(high ^ unit, 13), 0xc2b2ae35) ^ low;
  }
  low = scatter(low ^ (high >>> 11));
  high = scatter(high ^ low);
  // 21 bits of the upper lane and the lower lane: 53 bits, which a number represents exactly.
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

/** True if a value is data that JSON can represent. */
export function isPlainData(value: unknown): boolean {
  try {
    toJson(value);
    return true;
  } catch {
    return false;
  }
}
