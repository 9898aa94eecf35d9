// Helpers for rules. Most return a refusal message, or undefined for a valid request.

import { isRecord } from "../core/kit.ts";
import { eachSchema } from "../shared/adapters/object-schema.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { parseJson } from "../shared/json.ts";
import type { PartList, Rule, RuleAbout, WireCall, WireItem, WireMedia, WireRequest, WireTool } from "./rule.ts";

/** Returns the error message if a request breaks the rule, or undefined if it does not. */
export function refusalBy(rule: Rule, request: WireRequest): string | undefined {
  if (rule.breaks === undefined) return rule.refuses(request);
  // Safe cast: a rule's functions get only the request, or a part from the list that the rule names in `of`.
  const { of: list, breaks, says } = rule as RuleAbout<unknown> & { readonly of?: PartList };
  const parts: readonly unknown[] = list === undefined ? [request] : request[list];
  for (const part of parts) if (breaks(part, request)) return typeof says === "string" ? says : says(part, request);
  return undefined;
}

/** Returns the first message that `refuse` returns for any of the values. */
export function firstOf<Value>(values: Iterable<Value>, refuse: (value: Value) => string | undefined): string | undefined {
  for (const value of values) {
    const message = refuse(value);
    if (message !== undefined) return message;
  }
  return undefined;
}

/** Returns the message if the condition holds, or undefined. */
export function when(condition: boolean, message: string): string | undefined {
  return condition ? message : undefined;
}

/** Returns the message for a field that is not in `known`. Each string in `known` contains one or more names, separated by spaces. */
export function unknownField(fields: UnknownRecord, known: readonly string[], say: (name: string) => string): string | undefined {
  const names = known.flatMap((text) => text.split(" "));
  const unknown = Object.keys(fields).find((name) => !names.includes(name));
  return unknown === undefined ? undefined : say(unknown);
}

/** The fields that a message may have, by role. */
export interface FieldsByRole {
  readonly [role: string]: readonly string[];
}

/** Returns the message for a field that a message with this role may not have. */
export function unknownItemField(
  { items }: WireRequest,
  known: FieldsByRole,
  say: (item: WireItem, name: string) => string,
): string | undefined {
  return firstOf(items, (item) => unknownField(item.fields, known[item.role] ?? [], (name) => say(item, name)));
}

/** Returns the message for a content part whose type is not in `known`. */
export function unknownPart(
  { items }: WireRequest,
  known: readonly string[],
  say: (type: string, at: number) => string,
): string | undefined {
  return firstOf(items, ({ parts, at }) => {
    const other = parts.map(({ type }) => show(type)).find((type) => !known.includes(type));
    return other === undefined ? undefined : say(other, at);
  });
}

/** Returns the message if a request without tools contains calls or results. */
export function callsWithoutTools({ body, calls, results }: WireRequest, message: string): string | undefined {
  return when(recordsIn(body.tools).length === 0 && calls.length + results.length > 0, message);
}

/** Formats a value for an error message. */
export function show(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

export function recordAt(value: unknown, ...path: readonly string[]): UnknownRecord {
  let reached: unknown = value;
  for (const field of path) reached = isRecord(reached) ? reached[field] : undefined;
  return isRecord(reached) ? reached : {};
}

export function recordsIn(value: unknown): readonly UnknownRecord[] {
  return Array.isArray(value) ? value.filter((entry): entry is UnknownRecord => isRecord(entry)) : [];
}

/** Returns the calls whose results are not in the "tool" messages directly after them. */
export function unansweredCalls({ items, calls, results }: WireRequest): readonly WireCall[] {
  return calls.filter(({ at, id }) => {
    const answered = new Set<unknown>();
    for (let next = at + 1; items[next]?.role === "tool"; next += 1)
      for (const result of results) if (result.at === next) answered.add(result.id);
    return !answered.has(id);
  });
}

/** Returns the results that do not come directly after the message with their call. Other results may be in between. */
export function strayResults({ items, calls, results }: WireRequest): WireRequest["results"] {
  return results.filter(({ at, id }) => {
    let asked = at - 1;
    while (items[asked]?.role === "tool") asked -= 1;
    return !calls.some((call) => call.at === asked && call.id === id);
  });
}

export function repeatedCall({ calls }: WireRequest): WireCall | undefined {
  const seen = new Set<unknown>();
  return calls.find(({ id }) => seen.has(id) || (seen.add(id), false));
}

export function repeatedTool({ tools }: WireRequest): WireTool | undefined {
  const seen = new Set<string>();
  return tools.find(({ name }) => seen.has(name) || (seen.add(name), false));
}

/** Returns the first of `keywords` that a schema's root contains. */
export function rootKeyword(schema: unknown, ...keywords: readonly string[]): string | undefined {
  return isRecord(schema) ? keywords.find((keyword) => Object.hasOwn(schema, keyword)) : undefined;
}

export function isObjectSchema(schema: unknown): boolean {
  return isRecord(schema) && schema.type === "object";
}

/** Returns the patterns for strings and for property names in a schema. */
export function patternsIn(schema: unknown): readonly string[] {
  const nodes = [...eachSchema(schema)].map(([node]) => recordAt(node));
  const named = nodes.flatMap(({ pattern, patternProperties }) => [pattern, ...Object.keys(recordAt(patternProperties))]);
  return named.filter((pattern) => typeof pattern === "string");
}

/** True if the text is a JSON object. */
export function isObjectText(text: unknown): boolean {
  return typeof text === "string" && isRecord(parseJson(text));
}

/** True if a JSON text contains an escape for half of a surrogate pair, for example `\ud83d` alone. */
export function hasHalfPair(json: string): boolean {
  const units = json.replaceAll("\\\\", "");
  return /\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}/i.test(units);
}

/** Finds the first string with more than `longest` characters. Returns its path and length. */
export function longString(value: unknown, longest: number, path = ""): readonly [path: string, length: number] | undefined {
  if (typeof value === "string") return value.length > longest ? [path, value.length] : undefined;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, entry] of Object.entries(value)) {
    const step = Array.isArray(value) ? `[${name}]` : `${path === "" ? "" : "."}${name}`;
    const found = longString(entry, longest, path + step);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Detects the media type from the first bytes of base64 data. Undefined for types that are not listed below. */
export function sniffType(data: string): string | undefined {
  return signatures.find(([begin]) => begin.test(data))?.[1];
}

/** Patterns that match the first bytes of PNG, JPEG, GIF, WebP and PDF files in base64. */
const signatures: readonly (readonly [begin: RegExp, type: string])[] = [
  [/^iVBORw0KGg/, "image/png"],
  [/^\/9j\//, "image/jpeg"],
  [/^R0lGOD/, "image/gif"],
  [/^UklGR.{6}XRUJQ/, "image/webp"],
  [/^JVBER[gi]/, "application/pdf"],
];

/** Returns the width and height of a PNG or GIF in base64. */
export function pixelsOf({ data = "" }: WireMedia): readonly [width: number, height: number] | undefined {
  const bytes = Uint8Array.from(atob(data.slice(0, 40)), (character) => character.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  if (bytes.length < 24) return undefined;
  if (sniffType(data) === "image/png") return [view.getUint32(16), view.getUint32(20)];
  return sniffType(data) === "image/gif" ? [view.getUint16(6, true), view.getUint16(8, true)] : undefined;
}

/** Returns the length of an image's or file's base64 data, or 0 without data. */
export function sizeOf({ data = "" }: WireMedia): number {
  return data.length;
}
