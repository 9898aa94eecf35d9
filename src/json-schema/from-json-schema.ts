import { invalidOption, isRecord, type JsonSchema, LoopError, type StandardSchema } from "../core/entry-kit.ts";
import type { Judgement } from "./check-value.ts";
import { compileSchema } from "./compile-schema.ts";

/**
 * Makes a Standard Schema from a JSON Schema of draft 4, 6, 7, 2019-09 or 2020-12. `$schema` selects the draft; the default is
 * 2020-12. A valid value is returned unchanged: nothing is converted, and `default` is not applied. The type argument is the type
 * of a valid value.
 *
 * A value that is nested more than 100 levels deep or contains more than 20,000 values is rejected without a check. A value is
 * also rejected if checking it would take more than about a second, estimated by counting the work. Patterns run in RE2, in time
 * proportional to the length of the text.
 *
 * Throws LoopError "invalid-option" for:
 *
 * - a value that is not a JSON Schema, or a schema with more than 100,000 parts
 * - patterns of more than 20,000 characters in total
 * - a `$ref` to another document, `$dynamicRef` or `$recursiveRef`
 * - a pattern that is not a regular expression
 * - a pattern that cannot run in linear time, because it has look-around, back references or more than 1,000 repetitions
 *
 * The schema and its references are never fetched from the network.
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
  const expected = "a supported JSON Schema";
  if (!isRecord(schema)) throw invalidOption("fromJsonSchema", expected, schema);
  const made = compileSchema(schema);
  if ("problem" in made)
    throw new LoopError("invalid-option", { option: "fromJsonSchema", expected, received: `a schema that ${made.problem}` });
  return toStandardSchema(schema, made.judge);
}

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
        return issues.length === 0 ? { value: value as Output } : { issues };
      },
      jsonSchema: { input: () => ({ ...schema }) },
    },
  };
}
