import type { Issue, Json, JsonSchema, StandardResult, StandardSchema, ToolSchema, Validation } from "../types/common.ts";
import { LoopError } from "../errors/loop-error.ts";
import { cutText, describeValue, quote } from "../utils/texts.ts";
import { isLiteral, isRecord, type UnknownRecord } from "../utils/guards.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { isPlainData, toJson } from "../utils/json.ts";
import { promiseOrValue } from "../utils/promises.ts";
import { edges } from "../utils/edges.ts";

const remedy = 'Give the tool a "jsonSchema" to show to the model';

/** Caches conversions, because a conversion takes tens of microseconds, and each run uses the same schemas again. */
const converted = new WeakMap<object, JsonSchema>();

/**
 * Returns the JSON Schema for a tool's arguments. A Standard Schema is converted once, by its `~standard.jsonSchema` (zod has it
 * since 4.2). The `$schema` keyword is removed from the conversion. A plain JSON Schema is returned unchanged.
 *
 * Throws LoopError "invalid-schema" if a schema cannot be converted (zod/mini, dates, anything that only code can check) or is
 * not JSON. Also throws if no object can match the schema, because the arguments of a call are always an object.
 *
 * @see https://standardschema.dev/json-schema
 */
export function toJsonSchema(schema: ToolSchema, toolName: string): JsonSchema {
  const json = isStandardSchema(schema) ? convert(schema, toolName) : checkJson(schema, toolName);
  const problem = edges.findRootProblem?.(json) ?? "";
  if (problem !== "") throw invalidSchema(toolName, problem);
  return json;
}

/** `problem` is the reason why there is no JSON Schema. In messages, this text comes directly after the name of the schema. */
type ConvertedSchema = { readonly json: JsonSchema } | { readonly problem: string; readonly cause?: unknown };

export function convertSchema(schema: StandardSchema): ConvertedSchema {
  const known = converted.get(schema);
  if (known !== undefined) return { json: known };
  try {
    const keywords = Object.entries(toFields(schema["~standard"].jsonSchema?.input({ target: "draft-2020-12" })));
    const json = Object.fromEntries(keywords.filter(([keyword]) => keyword !== "$schema"));
    converted.set(schema, json);
    return { json };
  } catch (cause) {
    return { problem: `cannot be converted to JSON Schema${edges.describeFailure?.(schema, cause) ?? ""}`, cause };
  }
}

function convert(schema: StandardSchema, toolName: string): JsonSchema {
  const made = convertSchema(schema);
  if ("problem" in made) throw invalidSchema(toolName, `${made.problem}. ${remedy}`, made.cause);
  return made.json;
}

function checkJson(schema: JsonSchema, toolName: string): JsonSchema {
  if (converted.has(schema)) return schema;
  const problem = isLiteral(schema)
    ? findSchemaProblem(schema)
    : `is neither a Standard Schema nor a plain JSON Schema object${edges.adviseSchema?.(schema) ?? ""}`;
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

/**
 * Returns the reason why an object is not a JSON Schema, as text that comes directly after the name of the schema in messages.
 * Returns "" for a JSON Schema.
 */
export function findSchemaProblem(schema: object): string {
  return edges.findSchemaProblem?.(schema) ?? (isPlainData(schema) ? "" : "is not JSON");
}

/** In some libraries, a Standard Schema is a function. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return isRecord(standard) && typeof standard["validate"] === "function";
}

/**
 * Makes a Standard Schema from the properties of a tool's arguments and a function that validates their values. Refuses unknown
 * fields, because a misspelt optional field would otherwise be ignored.
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
  const nearest = edges.nearestName?.(name, known);
  return nearest === undefined
    ? `is not a field of this tool; its fields are ${known.join(", ")}`
    : `is not a field of this tool; did you mean ${quote(nearest)}?`;
}

export function issue(message: string, field?: string): { readonly issues: readonly { message: string; path?: string[] }[] } {
  return { issues: [field === undefined ? { message } : { message, path: [field] }] };
}

const misfit = "does not fit the schema";

// Limits for the issues that a model reads, because arguments may be huge or hostile.
const mostIssues = 20;
const longestMessage = 300;
const longestPath = 16;
const longestKey = 64;

type StandardIssue = Extract<StandardResult<unknown>, { readonly issues: readonly unknown[] }>["issues"][number];

/**
 * Validates arguments with a Standard Schema. Returns its output or at most 20 issues, as a promise only if the schema returns a
 * promise. A schema that throws or rejects also gives an issue. A plain JSON Schema checks nothing: the arguments are returned
 * with `unchecked: true`.
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
  if (result.issues === undefined)
    return "value" in result ? { value: result.value } : toBrokenSchema(new TypeError("the schema returned no value"));
  if (result.issues.length === 0) return { issues: [{ message: misfit }] };
  return { issues: result.issues.slice(0, mostIssues).map(toIssue) };
}

function toIssue({ message, path = [] }: StandardIssue): Issue {
  const said: unknown = message;
  const text = typeof said === "string" ? cutText(said, longestMessage) : misfit;
  // Copies to a plain array, because the `path` of arktype is an instance of a subclass of Array, whose methods return such instances.
  return path.length === 0 ? { message: text } : { message: text, path: Array.from(path.slice(0, longestPath), toKey) };
}

function toKey(segment: PropertyKey | { readonly key: PropertyKey }): string | number {
  const key = typeof segment === "object" ? segment.key : segment;
  return typeof key === "number" ? key : cutText(String(key), longestKey);
}

function toBrokenSchema(error: unknown): Validation {
  return { issues: [{ message: cutText(`could not be checked: ${toPlainError(error).message}`, longestMessage) }] };
}
