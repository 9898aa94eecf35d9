// JSON Schema as a Standard Schema: shown to the model, and validated.

import { invalidOption, isRecord, type JsonSchema, LoopError, type StandardSchema } from "../core/entry-kit.ts";
import { compileSchema, type Judgement } from "./compile-schema.ts";

/**
 * Makes a Standard Schema from a JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12. `$schema` selects the draft; the default is
 * the last one. A value that fits is returned unchanged: nothing is converted, and `default` is not applied. The type argument
 * names the type of a valid value.
 *
 * A value is rejected without a check if it is nested more than 100 levels deep or contains more than 20,000 values. The same
 * applies if the check would take longer than about a second; the work of the schema on the value is counted for that. RE2 runs
 * the patterns in time proportional to the text.
 *
 * Throws LoopError "invalid-option" for:
 *
 * - a value that is not a JSON Schema, or has more than 100,000 parts
 * - patterns of more than 20,000 characters in total
 * - a `$ref` to another document, `$dynamicRef` or `$recursiveRef`
 * - a pattern that is not a regular expression
 * - a pattern that cannot be run in linear time: with look-around, back references or more than 1,000 repetitions
 *
 * Nothing is ever fetched.
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

/** Makes a Standard Schema from a compiled schema. A value that could not be checked does not fit. */
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
        // The caller names the type of a value that fits.
        return issues.length === 0 ? { value: value as Output } : { issues };
      },
      jsonSchema: { input: () => ({ ...schema }) },
    },
  };
}
