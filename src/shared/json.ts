// Copies, compares and writes JSON data. Values from tools and journal records may contain anything.

import type { Json } from "../core/types/common.ts";
import { setField, type UnknownRecord } from "./guards.ts";

/** Parses a string as JSON. Returns undefined if the string is not valid JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The parsed arguments, or the problem with their text. */
export type ParsedArguments = { readonly args: unknown } | { readonly problem: "malformed" };

/**
 * Parses the text of a call's arguments. Blank text and `null` become `{}`, because services send these values for tools without
 * parameters. A JSON string that contains a JSON object becomes this object, because some models encode their arguments twice. An integer
 * with more digits than a number can hold becomes a string with all its digits. Strings in the JSON may contain raw control characters. Any
 * other text must be valid JSON, and is not repaired. A key "__proto__" is kept like any other key.
 *
 * @example
 * parseToolArguments('{"city":"Oslo"}'); // { args: { city: "Oslo" } }
 * parseToolArguments(""); // { args: {} }
 * parseToolArguments("null"); // { args: {} }
 * parseToolArguments('"{\\"city\\":\\"Oslo\\"}"'); // { args: { city: "Oslo" } }
 * parseToolArguments('{"city":'); // { problem: "malformed" }
 */
export function parseToolArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { args: {} };
  try {
    const args: unknown = parseExactly(text) ?? {};
    return { args: typeof args === "string" ? decodeObject(args) : args };
  } catch {
    return { problem: "malformed" };
  }
}

/**
 * Like `JSON.parse`, but preserves the digits of large integers. JavaScript would change the id 2512292042121000001 to 2512292042121000000,
 * so the tool would use a different id from the one that the model wrote (github.com/earendil-works/pi/issues/8943).
 */
function parseExactly(text: string): unknown {
  const value: unknown = parseModelJson(text);
  if (!/\d{16}/.test(text)) return value;
  const json = escapeControls(text);
  const exact = json.replace(/"(?:[^"\\]+|\\.)*"|-?\d[\d.eE+-]*/g, (token) =>
    /^-?\d{16,}$/.test(token) && String(Number(token)) !== token ? `"${token}"` : token,
  );
  return exact === json ? value : JSON.parse(exact);
}

/**
 * Like `JSON.parse`, but strings may contain raw line breaks, tabs and other control characters, which Claude, Gemini and Qwen write
 * (github.com/earendil-works/pi/issues/2681, github.com/rhesis-ai/rhesis/pull/2488, github.com/jundot/omlx/issues/1672).
 */
export function parseModelJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const value = parseJson(escapeControls(text));
    if (value === undefined) throw error;
    return value;
  }
}

/** Escapes the control characters in the strings of JSON text. The pattern matches each string to its end, so that it takes linear time. */
export function escapeControls(json: string): string {
  return json.replace(/"(?:[^"\\]|\\[^])*(?:"|\\?$)/g, (part) =>
    part.replace(/\\[^]|\p{Cc}/gu, (unit) =>
      unit.length === 1 ? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}` : unit,
    ),
  );
}

/**
 * Decodes arguments that were encoded twice, for example by GPT-5.5 (github.com/justrach/codegraff2/pull/141) and servers such as vLLM
 * (github.com/vllm-project/vllm/pull/54964).
 */
function decodeObject(text: string): unknown {
  if (!/^\s*\{/.test(text)) return text;
  try {
    return parseExactly(text);
  } catch {
    return text;
  }
}

/** Freezes JSON data deeply, and returns it. Skips the content of an object that is already frozen, so pass only copies. */
export function freezeDeep<T>(value: T): T {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  // Uses `for … in` because it creates no temporary array.
  for (const key in value) freezeDeep(value[key]);
  return value;
}

type Value = Json | undefined;

/** True if two values are equal as JSON. The order of keys does not matter, and keys with the value undefined are ignored. */
export function isSameJson(one: Value, other: Value): boolean {
  if (one === other) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return false;
  if (Array.isArray(one) !== Array.isArray(other)) return false;
  const [left, right] = [one, other] as readonly { readonly [key: string]: Value }[];
  return Object.keys({ ...one, ...other }).every((key) => isSameJson(left?.[key], right?.[key]));
}

/** The maximum depth of a value. Enough for any data, and far below the depth at which JSON.stringify overflows the stack. */
const deepestLevel = 1_000;

/**
 * Copies a value to plain data. The result equals `JSON.parse(JSON.stringify(value))`: `toJSON` methods are called, and values
 * that JSON cannot represent are dropped from objects and become null in arrays. NaN and the infinities become null. A key
 * "__proto__" is copied like any other key.
 *
 * Throws a TypeError that names the problem:
 *
 * - "a BigInt"
 * - "a cyclic value, or more than 1,000 levels"
 * - "a value of more than 10,000,000 parts": parts are values at any depth; an object that occurs several times is counted
 *   each time
 * - "undefined", "a function" or "a symbol", if `value` itself is one
 *
 * Errors from a getter or a `toJSON` method are thrown unchanged. `headroom` allows that many more levels. `isSorted` sorts the
 * keys of each object.
 *
 * @example toJson({ at: new Date(0), then: undefined }) // { at: "1970-01-01T00:00:00.000Z" }
 */
export function toJson(value: unknown, headroom = 0, isSorted = false): Json {
  parts = 0;
  const copied = copyValue(value, -headroom, isSorted);
  if (copied !== undefined) return copied;
  const kind = typeof value;
  throw new TypeError(kind === "function" || kind === "symbol" ? `a ${kind}` : "undefined");
}

/** The extra levels that `stableJson` allows. Even a copied value of the maximum depth may be nested in messages and lists. */
const envelope = 32;

/**
 * Converts a value to JSON text. The keys of each object are sorted, so that equal data produces equal text. Keys that are whole numbers
 * come first, as in any object. The value is copied with `toJson`, whose errors are thrown.
 *
 * @example stableJson({ b: 1, a: [true] }) // '{"a":[true],"b":1}'
 */
export function stableJson(value: unknown): string {
  return JSON.stringify(toJson(value, envelope, true));
}

/** The maximum number of values inside a value. Copying this many takes about two seconds. */
const maxParts = 10_000_000;

let parts = 0;

/** Counts parts, and throws if there are too many. Call it before memory is allocated for the parts. */
function countParts(count: number): void {
  parts += count;
  if (parts > maxParts) throw new TypeError("a value of more than 10,000,000 parts");
}

function copyValue(given: unknown, depth: number, isSorted: boolean): Value {
  if (typeof given === "string") return given;
  if (ArrayBuffer.isView(given)) countParts(given.byteLength);
  const { toJSON } = (given ?? nothing) as { readonly toJSON?: unknown };
  const value: unknown = typeof toJSON === "function" ? Reflect.apply(toJSON, given, [""]) : given;
  if (typeof value === "object") return value === null ? null : copyObject(value, depth + 1, isSorted);
  // Adds 0 to turn -0 into 0, as `JSON.stringify` does.
  if (typeof value === "number") return Number.isFinite(value) ? value + 0 : null;
  if (typeof value === "bigint") throw new TypeError("a BigInt");
  return typeof value === "string" || typeof value === "boolean" ? value : undefined;
}

const nothing = {};

function copyObject(value: object, depth: number, isSorted: boolean): Json {
  if (depth > deepestLevel) throw new TypeError("a cyclic value, or more than 1,000 levels");
  if (Array.isArray(value)) {
    countParts(value.length);
    return Array.from(value, (item) => copyValue(item, depth, isSorted) ?? null);
  }
  const keys = Object.keys(value);
  countParts(keys.length);
  const copy: { [key: string]: Json } = {};
  for (const key of isSorted ? keys.sort() : keys) {
    const field = copyValue((value as UnknownRecord)[key], depth, isSorted);
    if (field !== undefined) setField(copy, key, field);
  }
  return copy;
}

/**
 * Returns a 53-bit hash of a string as 14 hexadecimal digits. The result is the same on every platform. The hash detects accidental
 * differences. It is not secure: a deliberate search can find two strings with the same digest.
 */
export function digest(text: string): string {
  // Mixes the text into two 32-bit numbers. Each is multiplied by its own constant and mixed into the other.
  let low = 0x2545f491 ^ text.length;
  let high = 0x9e3779b9;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    low = (Math.imul(rotate(low ^ unit, 15), 0x85ebca6b) + high) | 0;
    high = Math.imul(rotate(high ^ unit, 13), 0xc2b2ae35) ^ low;
  }
  low = scatter(low ^ (high >>> 11));
  high = scatter(high ^ low);
  // Combines 21 bits of `high` with 32 bits of `low`, because a number represents 53 bits exactly.
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
