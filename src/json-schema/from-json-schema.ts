// JSON Schema as a Standard Schema: shown to the model, and checked as well.

import { invalidOption, isRecord, type JsonSchema, LoopError, type StandardSchema } from "../core/entry-kit.ts";
import { compileSchema, type Judgement } from "./compile-schema.ts";

/**
 * Makes a Standard Schema of a JSON Schema: drafts 4, 6, 7, 2019-09 and 2020-12, by `$schema`, the last one
 * where nothing is said. A value that fits passes as it is: nothing is converted, and a `default` is not filled in. The type argument is
 * your word for what fits.
 *
 * Values are refused unchecked that are nested more than 100 levels deep, have more than 20,000 values in them, or would take
 * longer than about a second: the work of the schema on the value is counted. Patterns are run in time proportional to the text, by RE2.
 *
 * Throws LoopError "invalid-option" for what is no JSON Schema, has more than 100,000 parts, patterns of more than 20,000 characters, a `$ref` to somewhere else, `$dynamicRef` or
 * `$recursiveRef`, a pattern that is no regular expression, or one that cannot be run in linear time: with look-around, back references or
 * more than 1,000 repetitions. Nothing is ever fetched.
 *
 * @example
 * const clock = defineTool({
 *   name: "get_time",
 *   description: "Time of day in a time zone",
 *   inputSchema: fromJsonSchema<{ zone: string }>({ type: "object", properties: { zone: { type: "string" } }, required: ["zone"] }),
 *   execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
 * });
 */
export function fromJsonSchema<Output = unknown>(schema: JsonSchema): StandardSchema<Output> {
  const expected = "a JSON Schema that can be checked";
  if (!isRecord(schema)) throw invalidOption("fromJsonSchema", expected, schema);
  const made = compileSchema(schema);
  if ("problem" in made)
    throw new LoopError("invalid-option", { option: "fromJsonSchema", expected, received: `one that ${made.problem}` });
  return toStandardSchema(schema, made.judge);
}

/** A Standard Schema of a schema that has been compiled. A value that could not be checked does not fit. */
export function toStandardSchema<Output = unknown>(
  schema: JsonSchema,
  judge: (value: unknown) => Judgement,
): StandardSchema<Output> {
  return {
    "~standard": {
      version: 1,
      vendor: "json-schema",
      validate(value) {
        const judged = judge(value);
        const issues = "issues" in judged ? judged.issues : [{ message: judged.unchecked }];
        // A value that fits has the type that the caller names.
        return issues.length === 0 ? { value: value as Output } : { issues };
      },
      jsonSchema: { input: () => ({ ...schema }) },
    },
  };
}
