// Reads arguments that a model has written in another form than the schema of the tool describes.

import type { JsonSchema } from "../../core/types/common.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { parseJson, toJson } from "../json.ts";

/**
 * Returns the arguments of a call in the form that the schema of the tool describes. Changes only arguments that cannot fit the schema
 * as they are:
 *
 * - A text that contains JSON becomes this JSON, if the schema accepts its type and no text. Claude writes arrays in this way
 *   (github.com/anthropics/claude-code/issues/86459).
 * - An optional argument that is null is left out, if the schema accepts no null. GPT and other models write all arguments of a tool
 *   (github.com/livekit/agents-js/pull/2308).
 *
 * Only the arguments themselves are changed, not values inside them. Returns `args` itself if nothing changes.
 *
 * @example
 * const schema = { type: "object", properties: { ids: { type: "array" }, limit: { type: "integer" } }, required: ["ids"] };
 * fitArguments({ ids: '["a"]', limit: null }, schema); // { ids: ["a"] }
 */
export function fitArguments(args: unknown, { properties, required }: JsonSchema): unknown {
  if (!isRecord(args) || !isRecord(properties)) return args;
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const fitted = Object.entries(args).flatMap(([name, value]): [string, unknown][] => {
    if (!Object.hasOwn(properties, name) || (value !== null && typeof value !== "string")) return [[name, value]];
    const types = findTypes(properties[name]);
    if (types === undefined || types.has(value === null ? "null" : "string")) return [[name, value]];
    if (value === null) return needed.includes(name) ? [[name, value]] : [];
    return [[name, decode(value, types)]];
  });
  const isSame = fitted.length === Object.keys(args).length && fitted.every(([name, value]) => value === args[name]);
  return isSame ? args : Object.fromEntries(fitted);
}

/** Returns the JSON in a text if its type is one of `types`, otherwise the text. */
function decode(text: string, types: ReadonlySet<unknown>): unknown {
  const value = parseJson(text);
  if (!types.has(typeOf(value)) && !(types.has("integer") && Number.isInteger(value))) return text;
  // A number that JavaScript cannot hold exactly stays a text.
  if (typeof value === "number" && !Number.isSafeInteger(Math.trunc(value))) return text;
  try {
    return toJson(value);
  } catch {
    return text;
  }
}

/** Returns the types that a schema accepts. Returns undefined if these are not known, or all. */
function findTypes(schema: unknown): ReadonlySet<unknown> | undefined {
  if (!isRecord(schema)) return undefined;
  const { type, nullable, enum: values = "const" in schema ? [schema["const"]] : undefined } = schema;
  const own = Array.isArray(type) ? type : typeof type === "string" ? [type] : undefined;
  // OpenAPI 3.0 writes "nullable" beside the type.
  if (own !== undefined) return new Set<unknown>(nullable === true ? [...own, "null"] : own);
  if (Array.isArray(values)) return new Set<unknown>(values.map(typeOf));
  return findUnion(schema);
}

function findUnion({ anyOf, oneOf, nullable }: UnknownRecord): ReadonlySet<unknown> | undefined {
  const branches: unknown = anyOf ?? oneOf;
  if (!Array.isArray(branches) || branches.length === 0 || nullable === true) return undefined;
  const found = new Set<unknown>();
  for (const branch of branches) {
    // A union in a union is left alone, so that a deep schema needs no recursion.
    const types = isRecord(branch) && "type" in branch ? findTypes(branch) : undefined;
    if (types === undefined) return undefined;
    for (const type of types) found.add(type);
  }
  return found;
}

function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
