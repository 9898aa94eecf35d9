// Explains why a value cannot be a tool's JSON Schema. These functions are optional: the loop calls them only if the bundle includes
// them.

import type { JsonSchema, StandardSchema } from "../types/common.ts";
import { isLiteral, isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { toJson } from "../../shared/json.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { memoize } from "../../shared/promises.ts";
import { quote } from "../../shared/texts.ts";
import { isStandardSchema } from "../../shared/argument-schema.ts";
import { findRootProblem } from "../../shared/root-schema.ts";

/** Explains why a Standard Schema cannot be converted to JSON Schema: it has no conversion, or the conversion failed. */
export function describeFailure(schema: StandardSchema, cause: unknown): string {
  const { vendor, jsonSchema } = schema["~standard"];
  if (jsonSchema === undefined) return `, because ${adviseZod(schema) ?? `${vendor} has no conversion`}`;
  return `: ${toPlainError(cause).message.replace(/\.$/, "")}`;
}

/**
 * Explains why an object cannot be a tool's schema: it is not a JSON Schema, or it never accepts an object. In error messages, the reason
 * comes directly after the schema's name. Returns "" for a valid schema.
 */
export function explainToolSchema(schema: JsonSchema): string {
  if (isLiteral(schema)) return explainSchema(schema) || findRootProblem(schema);
  const advice = adviseZod(schema);
  return `is neither a Standard Schema nor a plain JSON Schema object${advice === undefined ? "" : `: ${advice}`}`;
}

function adviseZod(schema: object): string | undefined {
  if ("_zod" in schema) return 'zod/mini and zod before 4.2 have no conversion; use z.toJSONSchema(schema, { io: "input" })';
  return "_def" in schema && "safeParse" in schema
    ? 'zod 3 has no conversion; write the schema with "z" from "zod/v4", which zod has since 3.25'
    : undefined;
}

/**
 * Explains why an object is not a JSON Schema. In error messages, the reason comes directly after the schema's name. Returns "" for a
 * JSON Schema. Cached for each object.
 */
export const explainSchema: (schema: object) => string = /* @__PURE__ */ memoize((schema: object) => {
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
  const example = vendor === "zod" ? "z.object({ ... })" : `an object schema from ${vendor}`;
  return `is an object whose field ${quote(field)} is a ${vendor} schema. Wrap all fields in one schema: inputSchema: ${example}`;
}

function findForeignValue(fields: UnknownRecord | readonly unknown[], path: string, seen: Set<object>): string | undefined {
  for (const [key, value] of Object.entries(fields)) {
    const at = path === "" ? key : `${path}.${key}`;
    const vendor = vendorOf(value);
    if (vendor !== undefined) return `is not JSON: ${quote(at)} is a ${vendor} schema, which a JSON Schema cannot contain`;
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

function vendorOf(value: unknown): string | undefined {
  return isStandardSchema(value) ? value["~standard"].vendor : undefined;
}

/** True for the prototype of plain objects, including those from another realm. */
function isPlain(prototype: unknown): boolean {
  return typeof prototype === "object" && prototype !== null && Object.getPrototypeOf(prototype) === null;
}

function hasToJson(value: object): boolean {
  return "toJSON" in value && typeof value.toJSON === "function";
}
