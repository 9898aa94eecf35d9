// What a model is shown of a tool's arguments.

import type { JsonSchema, StandardSchema, ToolSchema } from "../types/schema.ts";
import { LoopError } from "../errors/loop-error.ts";
import { describeValue } from "../utils/describe-value.ts";
import { isRecord } from "../utils/is-record.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { toJson } from "../utils/to-json.ts";
import { findSchemaProblem, isStandard } from "./find-schema-problem.ts";

const remedy = 'Give the tool a "jsonSchema" to show to the model';

/** Converting costs tens of microseconds, and the same schema comes again with each run. */
const converted = new WeakMap<object, JsonSchema>();

/**
 * The JSON Schema of a tool's arguments. A Standard Schema is converted once, by its own `~standard.jsonSchema` (zod since
 * 4.2), without the `$schema` keyword; plain JSON Schema passes as it is.
 *
 * Throws LoopError "invalid-schema" where a schema cannot be converted (zod/mini, dates, anything that only code can check),
 * where it is not JSON, and where its `type` is not "object", because the arguments of a call always are one.
 *
 * @see https://standardschema.dev/json-schema
 */
export function toJsonSchema(schema: ToolSchema, toolName: string): JsonSchema {
  const json = isStandardSchema(schema) ? convert(schema, toolName) : checkJson(schema, toolName);
  const { type } = json;
  if (type !== undefined && type !== "object") {
    throw invalid(toolName, `must be of type "object", but is of ${describeValue(type)}`);
  }
  return json;
}

/** A schema as JSON Schema, or why it cannot become that; `problem` reads on after the schema's name. */
export type ConvertedSchema = { readonly json: JsonSchema } | { readonly problem: string; readonly cause?: unknown };

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

/** True for a schema that follows the Standard Schema specification; some libraries' schemas are functions. */
export function isStandardSchema(schema: ToolSchema): schema is StandardSchema {
  return isStandard(schema);
}

/** What to do about a schema of zod that cannot say its JSON Schema; undefined for other libraries. */
function zodAdviceOf(schema: object): string | undefined {
  if ("_zod" in schema)
    return 'zod does not say how before 4.2, nor does zod/mini; z.toJSONSchema(schema, { io: "input" }) makes it';
  return "_def" in schema && "safeParse" in schema
    ? 'zod 3 does not say how; write it with the "z" of "zod/v4", which zod has since 3.25'
    : undefined;
}

function convert(schema: StandardSchema, toolName: string): JsonSchema {
  const made = convertSchema(schema);
  if ("problem" in made) throw invalid(toolName, `${made.problem}. ${remedy}`, made.cause);
  return made.json;
}

/** Only plain data may be sent; the document itself is passed on untouched. */
function checkJson(schema: JsonSchema, toolName: string): JsonSchema {
  if (converted.has(schema)) return schema;
  const prototype: unknown = Object.getPrototypeOf(schema);
  if (prototype !== Object.prototype && prototype !== null) {
    const advice = zodAdviceOf(schema);
    const problem = "is neither a Standard Schema nor a plain JSON Schema object";
    throw invalid(toolName, advice === undefined ? problem : `${problem}: ${advice}`);
  }
  const problem = findSchemaProblem(schema);
  if (problem !== "") throw invalid(toolName, problem);
  converted.set(schema, schema);
  return schema;
}

function toFields(schema: unknown): JsonSchema {
  const json = toJson(schema);
  if (isRecord(json)) return json;
  throw new TypeError(describeValue(json));
}

function invalid(toolName: string, problem: string, cause?: unknown): LoopError<"invalid-schema"> {
  return new LoopError("invalid-schema", { toolName, problem }, cause === undefined ? undefined : { cause });
}
