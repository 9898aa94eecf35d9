import type { Issue, JsonSchema, StandardResult, StandardSchema, ToolSchema, Validation } from "../core/types/common.ts";
import { LoopError } from "./errors/loop-error.ts";
import { cutText, describeValue } from "./texts.ts";
import { isRecord } from "./guards.ts";
import { toPlainError } from "./plain-error.ts";
import { isPlainData, toJson } from "./json.ts";
import { promiseOrValue } from "./promises.ts";
import { edges } from "./edges.ts";

const remedy = 'Give the tool a "jsonSchema" to show to the model';

/** Conversions by schema. Cached, because a conversion takes tens of microseconds, and each run uses the same schemas again. */
const converted = new WeakMap<object, JsonSchema>();

/**
 * Returns the JSON Schema for a tool's arguments. A Standard Schema is converted once, by its `~standard.jsonSchema` (in zod since 4.2).
 * The `$schema` keyword is removed from the conversion. A plain JSON Schema is returned unchanged.
 *
 * Throws LoopError "invalid-schema" if a schema cannot be converted (zod/mini, dates, anything that only code can check) or is
 * not JSON. Also throws if no object can match the schema, because the arguments of a call are always an object.
 *
 * @see https://standardschema.dev/json-schema
 */
export function toJsonSchema(schema: ToolSchema, toolName: string): JsonSchema {
  const made: ConvertedSchema = isStandardSchema(schema) ? convertSchema(schema) : { json: schema };
  const problem = "problem" in made ? `${made.problem}. ${remedy}` : findSchemaProblem(made.json);
  if ("json" in made && problem === "") return made.json;
  throw new LoopError("invalid-schema", { toolName, problem }, "cause" in made ? { cause: made.cause } : undefined);
}

function findSchemaProblem(schema: JsonSchema): string {
  return edges.findSchemaProblem?.(schema) ?? (isPlainData(schema) ? "" : "is not JSON");
}

/** A conversion, or the reason why there is none (`problem`), worded to follow the schema's name in messages. */
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

function toFields(schema: unknown): JsonSchema {
  const json = toJson(schema);
  if (isRecord(json)) return json;
  throw new TypeError(describeValue(json));
}

/** True for a Standard Schema. In some libraries, it is a function. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard: unknown = Reflect.get(value, "~standard");
  return isRecord(standard) && typeof standard["validate"] === "function";
}

export function issue(message: string, field?: string): { readonly issues: readonly { message: string; path?: string[] }[] } {
  return { issues: [field === undefined ? { message } : { message, path: [field] }] };
}

const misfit = "does not fit the schema";

// These limits apply to messages for the model, because arguments may be huge or hostile.
const maxIssues = 20;
const maxMessageLength = 300;
const maxPathLength = 16;
const maxKeyLength = 64;

type StandardIssue = Extract<StandardResult<unknown>, { readonly issues: readonly unknown[] }>["issues"][number];

/**
 * Validates arguments with a Standard Schema. Returns its output or at most 20 issues, as a promise only if the schema returns a promise. A
 * schema that throws or rejects also produces an issue. A plain JSON Schema checks nothing: the arguments are returned with `unchecked:
 * true`.
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
  return { issues: result.issues.slice(0, maxIssues).map(toIssue) };
}

function toIssue({ message, path = [] }: StandardIssue): Issue {
  const said: unknown = message;
  const text = typeof said === "string" ? cutText(said, maxMessageLength) : misfit;
  // Copies the path to a plain array, because arktype's paths are instances of a subclass of Array.
  return path.length === 0 ? { message: text } : { message: text, path: Array.from(path.slice(0, maxPathLength), toKey) };
}

function toKey(segment: PropertyKey | { readonly key: PropertyKey }): string | number {
  const key = typeof segment === "object" ? segment.key : segment;
  return typeof key === "number" ? key : cutText(String(key), maxKeyLength);
}

function toBrokenSchema(error: unknown): Validation {
  return { issues: [{ message: cutText(`could not be checked: ${toPlainError(error).message}`, maxMessageLength) }] };
}
