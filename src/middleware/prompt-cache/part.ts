import { countBytes } from "../../shared/estimate-tokens.ts";
import { digest } from "../../shared/json.ts";
import { isRecord, textOf } from "../../core/kit.ts";
import type { PartDigest } from "./types.ts";
import type { UnknownRecord } from "../../shared/guards.ts";

/** A tool, system text or message in a request. */
export interface Part {
  readonly digest: string;
  /** The number of UTF-8 bytes in the part's JSON text. */
  readonly bytes: number;
  readonly name: string | undefined;
  /** The part as it was sent. Undefined for a part that was read from a record. */
  readonly value: unknown;
}

/** Parts that were already measured. Providers convert each message once, so most parts are the same objects as in the last request. */
const known = new WeakMap<object, Part>();

/** Measures a part of a request. `before` is the part at the same place in the previous request. */
export function toPart(value: unknown, before: Part | undefined): Part {
  if (before !== undefined && isSameValue(before.value, value)) return before;
  if (typeof value !== "object" || value === null) return measure(value);
  const part = known.get(value) ?? measure(value);
  known.set(value, part);
  return part;
}

function measure(value: unknown): Part {
  const text = toText(value);
  return { digest: digest(text), bytes: countBytes(text), name: nameOf(value), value };
}

export function fromDigest([hash, bytes, name]: PartDigest): Part {
  return { digest: hash, bytes, name, value: undefined };
}

export function toDigest({ digest: hash, bytes, name }: Part): PartDigest {
  return name === undefined ? [hash, bytes] : [hash, bytes, name];
}

export function isSamePart(one: Part | undefined, other: Part | undefined): boolean {
  return one === other || (one !== undefined && one.digest === other?.digest && one.bytes === other.bytes);
}

/** Returns a tool's name. Undefined for a message. */
function nameOf(value: unknown): string | undefined {
  if (!isRecord(value) || "role" in value) return undefined;
  const { name, type } = value;
  const inner = isRecord(value["function"]) ? value["function"]["name"] : undefined;
  return [name, inner, type].map(textOf).find((text) => text !== "");
}

/**
 * True if two objects have the same fields with identical values. Two lists, as in joined messages, count as identical if their items
 * are.
 */
function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!isRecord(one) || !isRecord(other)) return false;
  const keys = Object.keys(one);
  const others = Object.keys(other);
  return keys.length === others.length && keys.every((key, at) => key === others[at] && isSameField(one[key], other[key]));
}

function isSameField(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (!Array.isArray(one) || !Array.isArray(other) || one.length !== other.length) return false;
  return one.every((item: unknown, at) => item === other[at]);
}

/** Fields that mark the end of a cached prefix. They are ignored in comparisons, because they move with each request. */
const marks: ReadonlySet<string> = new Set(["cache_control", "prompt_cache_breakpoint"]);

export function toText(value: unknown): string {
  const text = JSON.stringify(value) ?? "";
  const isMarked = [...marks].some((mark) => text.includes(`"${mark}"`));
  return isMarked ? JSON.stringify(withoutMarks(value)) : text;
}

/** Removes marks only from a part and the blocks in its content, because a call's arguments may have fields with the same names. */
function withoutMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutMarks);
  if (!isRecord(value)) return value;
  const kept: UnknownRecord = Object.fromEntries(Object.entries(value).filter(([key]) => !marks.has(key)));
  return "content" in kept ? { ...kept, content: withoutMarks(kept["content"]) } : kept;
}

/** Counts how many bytes the JSON texts of two values share at the beginning. An undefined value shares none. */
export function countShared(one: unknown, other: unknown): number {
  if (one === undefined || other === undefined) return 0;
  const [text, next] = [toText(one), toText(other)];
  let at = 0;
  while (at < text.length && text.charCodeAt(at) === next.charCodeAt(at)) at += 1;
  // Excludes half a character, because two characters may share the first half of a surrogate pair.
  if (isHighHalf(text.charCodeAt(at - 1))) at -= 1;
  return countBytes(text.slice(0, at));
}

function isHighHalf(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
