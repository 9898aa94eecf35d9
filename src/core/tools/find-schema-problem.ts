// Finds in a JSON Schema the values that are no JSON. Left alone they would be dropped, and the model would be shown another schema.

import type { StandardSchema } from "../types/schema.ts";
import { quote } from "../utils/describe-value.ts";
import { isRecord, type UnknownRecord } from "../utils/is-record.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { toJson } from "../utils/to-json.ts";
import { memoize } from "../utils/memoize.ts";

/** Why a schema is no JSON Schema; "" if it is one. The problem reads on after the schema's name. Each schema is looked at once. */
export const findSchemaProblem: (schema: object) => string = memoize((schema: object) => {
  if (!isRecord(schema)) return "";
  const field = Object.keys(schema).find((key) => vendorOf(schema[key]) !== undefined);
  if (field !== undefined) return describeShape(field, vendorOf(schema[field]));
  try {
    toJson(schema);
  } catch (error) {
    return `is not JSON: ${toPlainError(error).message}`;
  }
  return findForeignValue(schema, "", new Set()) ?? "";
});

function describeShape(field: string, vendor: string | undefined): string {
  const example = vendor === "zod" ? "z.object({ ... })" : `an object schema of ${vendor}`;
  return `is an object whose field ${quote(field)} is a schema of ${vendor}. Wrap the fields: inputSchema: ${example}`;
}

function findForeignValue(fields: UnknownRecord | readonly unknown[], path: string, seen: Set<object>): string | undefined {
  for (const [key, value] of Object.entries(fields)) {
    const at = path === "" ? key : `${path}.${key}`;
    const vendor = vendorOf(value);
    if (vendor !== undefined) return `is not JSON: ${quote(at)} is a schema of ${vendor}, which JSON Schema cannot hold`;
    const kind = foreignKindOf(value);
    if (kind !== undefined) return `is not JSON: ${quote(at)} is ${kind}`;
    if (typeof value !== "object" || value === null || seen.has(value) || hasToJson(value)) continue;
    seen.add(value);
    const found = findForeignValue(value as UnknownRecord, at, seen);
    if (found !== undefined) return found;
  }
  return undefined;
}

function foreignKindOf(value: unknown): string | undefined {
  if (typeof value === "function" || typeof value === "symbol") return `a ${typeof value}`;
  if (!isRecord(value) || hasToJson(value)) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || isPlain(prototype) ? undefined : "an instance of a class";
}

/** True for a schema that follows the Standard Schema specification; some libraries' schemas are functions. */
export function isStandard(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return isRecord(standard) && typeof standard["validate"] === "function";
}

/** The library of a Standard Schema; undefined for any other value. */
function vendorOf(value: unknown): string | undefined {
  return isStandard(value) ? value["~standard"].vendor : undefined;
}

/** A plain object of another realm has another `Object.prototype`. */
function isPlain(prototype: unknown): boolean {
  return typeof prototype === "object" && prototype !== null && Object.getPrototypeOf(prototype) === null;
}

function hasToJson(value: object): boolean {
  return "toJSON" in value && typeof value.toJSON === "function";
}
