// Corrects tool arguments that deviate from their schema in ways typical of models.

import type { JsonSchema } from "../../core/types/common.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { parseJson, toJson } from "../json.ts";
import { mapItems } from "./well-formed.ts";

/**
 * Returns a call's arguments in the form that the tool's schema describes. Changes only values that the schema cannot accept:
 *
 * - A string that contains JSON becomes that JSON value, if the schema accepts its type but not strings. Claude writes arrays this way
 *   (github.com/anthropics/claude-code/issues/86459).
 * - An optional property that is null is removed, if the schema does not accept null. GPT and other models write all properties
 *   (github.com/livekit/agents-js/pull/2308).
 * - If the only argument is an object with all the arguments in it, that object becomes the arguments.
 *
 * References and unions of objects are not followed. Returns the same `args` if nothing changes.
 *
 * @example
 * const schema = { type: "object", properties: { ids: { type: "array" }, limit: { type: "integer" } }, required: ["ids"] };
 * fitArguments({ ids: '["a"]', limit: null }, schema); // { ids: ["a"] }
 */
export function fitArguments(args: unknown, schema: JsonSchema): unknown {
  return fitParts(unwrap(args, schema), schema);
}

/**
 * Returns the inner arguments if a model, such as GLM or Qwen, puts all arguments into a single argument named "arguments"
 * (github.com/openclaw/openclaw/issues/142304).
 */
function unwrap(args: unknown, { properties, additionalProperties: rest = false }: JsonSchema): unknown {
  if (!isRecord(args) || !isRecord(properties) || rest !== false || Object.hasOwn(properties, "arguments")) return args;
  const { arguments: inner, ...others } = args;
  const names = isRecord(inner) ? Object.keys(inner) : [];
  const isWrapped = names.length > 0 && names.every((name) => Object.hasOwn(properties, name));
  return isWrapped && Object.keys(others).length === 0 ? inner : args;
}

function fitParts(value: unknown, schema: unknown): unknown {
  if (!isRecord(schema)) return value;
  if (Array.isArray(value)) return mapItems(value, (item) => fitValue(item, schema["items"]));
  return isRecord(value) && isRecord(schema["properties"]) ? fitFields(value, schema["properties"], schema["required"]) : value;
}

function fitFields(fields: UnknownRecord, properties: UnknownRecord, required: unknown): UnknownRecord {
  const needed: readonly unknown[] = Array.isArray(required) ? required : [];
  const fitted = Object.entries(fields).flatMap(([name, value]): [string, unknown][] => {
    if (!Object.hasOwn(properties, name)) return [[name, value]];
    const isNeeded = value !== null || needed.includes(name) || findTypes(properties[name])?.has("null") !== false;
    return isNeeded ? [[name, fitValue(value, properties[name])]] : [];
  });
  const isSame = fitted.length === Object.keys(fields).length && fitted.every(([name, value]) => value === fields[name]);
  return isSame ? fields : Object.fromEntries(fitted);
}

function fitValue(value: unknown, schema: unknown): unknown {
  if (typeof value !== "string") return fitParts(value, schema);
  const types = findTypes(schema);
  return types === undefined || types.has("string") ? value : fitParts(decode(value, types), schema);
}

/** Parses the JSON in a string. Returns the string itself unless the type of the parsed value is one of `types`. */
function decode(text: string, types: ReadonlySet<unknown>): unknown {
  const value = parseJson(text);
  if (!types.has(typeOf(value)) && !(types.has("integer") && Number.isInteger(value))) return text;
  // Leaves a number as text if JavaScript cannot represent it exactly.
  if (typeof value === "number" && !Number.isSafeInteger(Math.trunc(value))) return text;
  try {
    return toJson(value);
  } catch {
    return text;
  }
}

/** Returns the types that a schema accepts. Returns undefined if they are unknown, or if it accepts all types. */
function findTypes(schema: unknown): ReadonlySet<unknown> | undefined {
  if (!isRecord(schema)) return undefined;
  const { type, nullable, enum: values = "const" in schema ? [schema["const"]] : undefined } = schema;
  const own = Array.isArray(type) ? type : typeof type === "string" ? [type] : undefined;
  // In OpenAPI 3.0, `nullable` next to `type` also allows null.
  if (own !== undefined) return new Set<unknown>(nullable === true ? [...own, "null"] : own);
  if (Array.isArray(values)) return new Set<unknown>(values.map(typeOf));
  return findUnion(schema);
}

function findUnion({ anyOf, oneOf, nullable }: UnknownRecord): ReadonlySet<unknown> | undefined {
  const branches: unknown = anyOf ?? oneOf;
  if (!Array.isArray(branches) || branches.length === 0 || nullable === true) return undefined;
  const found = new Set<unknown>();
  for (const branch of branches) {
    // Ignores a union inside a union, so that a deep schema does not require recursion.
    const types = isRecord(branch) && "type" in branch ? findTypes(branch) : undefined;
    if (types === undefined) return undefined;
    for (const type of types) found.add(type);
  }
  return found;
}

/** Returns the name that JSON Schema gives to the type of a value. An integer is a "number". */
export function typeOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "array" : typeof value;
}
