// The schema of a tool's arguments: conversion to JSON Schema, and validation.

import type { Issue, JsonSchema, StandardResult, StandardSchema, ToolSchema, Validation } from "../types/common.ts";
import { LoopError } from "../errors/loop-error.ts";
import { cutText, describeValue, quote } from "../utils/texts.ts";
import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { toJson } from "../utils/json.ts";
import { memoize, promiseOrValue } from "../utils/promises.ts";
import type { Json } from "../types/json.ts";
import { nearestName } from "../utils/tool-arguments.ts";

const remedy = 'Give the tool a "jsonSchema" to show to the model';

/** Cached: a conversion takes tens of microseconds, and the same schema comes again with each run. */
const converted = new WeakMap<object, JsonSchema>();

/**
 * Returns the JSON Schema of a tool's arguments. A Standard Schema is converted once, by its own `~standard.jsonSchema` (zod
 * since 4.2), without the `$schema` keyword. Plain JSON Schema is returned unchanged.
 *
 * Throws LoopError "invalid-schema" if a schema cannot be converted (zod/mini, dates, anything that only code can check) or is
 * not JSON. Also throws if its `type` is not "object", because the arguments of a call are always an object.
 *
 * @see https://standardschema.dev/json-schema
 */
export function toJsonSchema(schema: ToolSchema, toolName: string): JsonSchema {
  const json = isStandardSchema(schema) ? convert(schema, toolName) : checkJson(schema, toolName);
  const { type } = json;
  if (type !== undefined && type !== "object") {
    throw invalidSchema(toolName, `must be of type "object", but is of ${describeValue(type)}`);
  }
  return json;
}

/** A schema as JSON Schema, or why it cannot be converted. `problem` follows the name of the schema. */
type ConvertedSchema = { readonly json: JsonSchema } | { readonly problem: string; readonly cause?: unknown };

/** Converts a Standard Schema of any type, once, without the `$schema` keyword. */
export function convertSchema(schema: StandardSchema): ConvertedSchema {
  const known = converted.get(schema);
  if (known !== undefined) return { json: known };
  const { vendor, jsonSchema } = schema["~standard"];
  if (jsonSchema === undefined) {
    return { problem: `cannot become JSON Schema by itself, because ${zodAdviceOf(schema) ?? `${vendor} does not say how`}` };
  }
  try {
    const keywords = Object.entries(toFields(jsonSchema.input({ target: "draft-2020-12" })));
    const json = Object.fromEntries(keywords.filter(([keyword]) => keyword !== "$schema"));
    converted.set(schema, json);
    return { json };
  } catch (cause) {
    return { problem: `cannot become JSON Schema: ${toPlainError(cause).message.replace(/\.$/, "")}`, cause };
  }
}

/** True for a schema that follows the Standard Schema specification. In some libraries it is a function. */
export function isStandardSchema(schema: ToolSchema): schema is StandardSchema {
  return isStandard(schema);
}

/** Returns advice for a zod schema that cannot be converted; undefined for other libraries. */
function zodAdviceOf(schema: object): string | undefined {
  if ("_zod" in schema)
    return 'zod does not say how before 4.2, nor does zod/mini; z.toJSONSchema(schema, { io: "input" }) makes it';
  return "_def" in schema && "safeParse" in schema
    ? 'zod 3 does not say how; write it with the "z" of "zod/v4", which zod has since 3.25'
    : undefined;
}

function convert(schema: StandardSchema, toolName: string): JsonSchema {
  const made = convertSchema(schema);
  if ("problem" in made) throw invalidSchema(toolName, `${made.problem}. ${remedy}`, made.cause);
  return made.json;
}

/** Checks that a schema is plain data. The document itself is passed on unchanged. */
function checkJson(schema: JsonSchema, toolName: string): JsonSchema {
  if (converted.has(schema)) return schema;
  const prototype: unknown = Object.getPrototypeOf(schema);
  if (prototype !== Object.prototype && prototype !== null) {
    const advice = zodAdviceOf(schema);
    const problem = "is neither a Standard Schema nor a plain JSON Schema object";
    throw invalidSchema(toolName, advice === undefined ? problem : `${problem}: ${advice}`);
  }
  const problem = findSchemaProblem(schema);
  if (problem !== "") throw invalidSchema(toolName, problem);
  converted.set(schema, schema);
  return schema;
}

function toFields(schema: unknown): JsonSchema {
  const json = toJson(schema);
  if (isRecord(json)) return json;
  throw new TypeError(describeValue(json));
}

function invalidSchema(toolName: string, problem: string, cause?: unknown): LoopError<"invalid-schema"> {
  return new LoopError("invalid-schema", { toolName, problem }, cause === undefined ? undefined : { cause });
}

/** Returns why a value is not a JSON Schema; "" if it is one. The text follows the name of the schema. Each schema is checked once. */
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

/** True for a value that follows the Standard Schema specification. In some libraries a schema is a function. */
export function isStandard(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return isRecord(standard) && typeof standard["validate"] === "function";
}

/** Returns the library of a Standard Schema; undefined for any other value. */
function vendorOf(value: unknown): string | undefined {
  return isStandard(value) ? value["~standard"].vendor : undefined;
}

/** True for the prototype of a plain object, including one of another realm, whose `Object.prototype` differs. */
function isPlain(prototype: unknown): boolean {
  return typeof prototype === "object" && prototype !== null && Object.getPrototypeOf(prototype) === null;
}

function hasToJson(value: object): boolean {
  return "toJSON" in value && typeof value.toJSON === "function";
}

/**
 * Makes a Standard Schema from the properties of a tool's arguments and a function that reads them. Other fields are rejected: a
 * misspelt optional field would otherwise be ignored.
 */
export function argumentSchema<Output>(
  { properties, ...more }: JsonSchema & { readonly properties: { readonly [name: string]: Json } },
  read: (fields: UnknownRecord) => StandardResult<Output>,
): StandardSchema<unknown, Output> {
  const json: JsonSchema = { ...more, properties, additionalProperties: false };
  const validate = (args: unknown): StandardResult<Output> => {
    if (!isRecord(args)) return issue("must be an object with fields");
    const unknown = Object.keys(args).find((name) => !Object.hasOwn(properties, name));
    return unknown === undefined ? read(args) : issue(describeUnknown(unknown, Object.keys(properties)), unknown);
  };
  return { "~standard": { version: 1, vendor: "turnwright", validate, jsonSchema: { input: () => ({ ...json }) } } };
}

function describeUnknown(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === undefined
    ? `is not a field of this tool, which has ${known.join(", ")}`
    : `is not a field of this tool; did you mean ${quote(nearest)}?`;
}

/** Makes an issue about the arguments, or about one field of them. */
export function issue(message: string, field?: string): { readonly issues: readonly { message: string; path?: string[] }[] } {
  return { issues: [field === undefined ? { message } : { message, path: [field] }] };
}

/** The message of an issue without one. */
const misfit = "does not fit the schema";

// Limits of the issues for a model: arguments may be hostile or huge, and the model does not need to read every issue.
const mostIssues = 20;
const longestMessage = 300;
const longestPath = 16;
const longestKey = 64;

type StandardIssue = Extract<StandardResult<unknown>, { readonly issues: readonly unknown[] }>["issues"][number];

/**
 * Validates arguments with a Standard Schema. Returns a promise only if the schema does. The result is the output of the schema,
 * or at most 20 issues. A schema that throws or rejects gives an issue, never a rejection. Plain JSON Schema is not checked: the
 * value is returned unchanged, marked as unchecked.
 */
export function validateArgs(schema: ToolSchema, args: unknown): Validation | Promise<Validation> {
  if (!isStandardSchema(schema)) return { value: args, unchecked: true };
  try {
    const result = promiseOrValue(schema["~standard"].validate(args));
    return result instanceof Promise ? result.then(toValidation).catch(toBrokenSchema) : toValidation(result);
  } catch (error) {
    return toBrokenSchema(error);
  }
}

function toValidation(result: StandardResult<unknown>): Validation {
  if (result.issues === undefined) return { value: result.value };
  if (result.issues.length === 0) return { issues: [{ message: misfit }] };
  return { issues: result.issues.slice(0, mostIssues).map(toIssue) };
}

function toIssue({ message, path = [] }: StandardIssue): Issue {
  const said: unknown = message;
  const text = typeof said === "string" ? cutText(said, longestMessage) : misfit;
  // A plain array: the methods of a library's own array class would return that class again.
  return path.length === 0 ? { message: text } : { message: text, path: Array.from(path.slice(0, longestPath), toKey) };
}

function toKey(segment: PropertyKey | { readonly key: PropertyKey }): string | number {
  const key = typeof segment === "object" ? segment.key : segment;
  return typeof key === "number" ? key : cutText(String(key), longestKey);
}

function toBrokenSchema(error: unknown): Validation {
  return { issues: [{ message: cutText(`could not be checked: ${toPlainError(error).message}`, longestMessage) }] };
}
