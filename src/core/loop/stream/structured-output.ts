// Requests a final answer that matches a schema.

import type { StructuredOutput, StructuredOutputOptions } from "../../types/policies.ts";
import type { JsonSchema, StandardSchema } from "../../types/common.ts";
import { checkFields, type Checks, invalidOption } from "../../errors/check-fields.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { isRecord } from "../../utils/guards.ts";
import { isPlainData } from "../../utils/json.ts";
import { convertSchema, isStandardSchema } from "../../tools/argument-schema.ts";
import type { AnswerRules } from "../../middleware/structured-output.ts";

const checks: Checks<StructuredOutputOptions> = {
  jsonSchema: ["a JSON Schema: an object of plain data", (value) => isRecord(value) && isPlainData(value)],
  native: true,
  maxRetries: { min: 0 },
};

/**
 * Requests a final answer that matches `schema`, a Standard Schema such as a zod schema. An answer that fails the validation is
 * requested again. `result.output` is the validated value, as plain data, so JSON must be able to represent this value.
 *
 * Throws LoopError "unknown-option" or "invalid-option". Also throws "invalid-option" if the schema cannot be converted to JSON
 * Schema and `jsonSchema` is not set.
 *
 * @example
 * const { output } = await runToolLoop({ provider, messages, policies: { output: structuredOutput(z.object({ city: z.string() })) } });
 */
export function structuredOutput<Output>(
  schema: StandardSchema<unknown, Output>,
  options: StructuredOutputOptions = {},
): StructuredOutput<Output> {
  if (!isStandardSchema(schema)) throw invalidOption("policies.output.schema", "a Standard Schema, such as zod makes", schema);
  checkFields("policies.output", options, checks);
  const { jsonSchema = schemaOf(schema), native = true, maxRetries = 2 } = options;
  const ask = "Give your final answer as JSON that fits this JSON Schema, with nothing before or after it:";
  const prompt = `${ask}\n${JSON.stringify(jsonSchema)}`;
  const requested = native ? { schema: jsonSchema, instructions: prompt } : undefined;
  const output: AnswerRules<Output> & StructuredOutput<Output> = {
    kind: "structured-output",
    schema,
    prompt,
    requested,
    maxRetries,
  };
  return output;
}

function schemaOf(schema: StandardSchema): JsonSchema {
  const made = convertSchema(schema);
  if (!("problem" in made)) return made.json;
  const expected = 'a schema that can be converted to JSON Schema, or have a "jsonSchema" option';
  const details = { option: "policies.output.schema", expected, received: `one that ${made.problem}` };
  throw new LoopError("invalid-option", details, { cause: made.cause });
}
