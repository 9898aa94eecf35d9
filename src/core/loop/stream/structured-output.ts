// Converts the answer of the model to a validated value. Contains the instructions to the model, the parser, and the message
// about an invalid answer.

import type { StructuredOutput, StructuredOutputOptions } from "../../types/policies.ts";
import type { Issue, JsonSchema, StandardSchema, Validation } from "../../types/common.ts";
import { checkFields, type Checks, invalidOption } from "../../errors/check-fields.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { isRecord } from "../../utils/guards.ts";
import { isPlainData } from "../../utils/json.ts";
import { cutText } from "../../utils/texts.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { convertSchema, isStandardSchema, validateArgs } from "../../tools/argument-schema.ts";
import { renderIssues } from "../../tools/outcome-texts.ts";
import { misfitNote } from "../state/apply-step.ts";
import type { OutputRules } from "../../middleware/structured-output.ts";

/** The maximum length of the listed issues in the message to the model, in characters. */
const longestComplaint = 2_000;
const longestParseError = 300;

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
  const output: OutputRules<Output> & StructuredOutput<Output> = {
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

/** Returns a promise only if the schema validates asynchronously. */
export function validateOutput(text: string, schema: StandardSchema): Validation | Promise<Validation> {
  let value: unknown;
  try {
    value = JSON.parse(unwrapFence(text.trim()));
  } catch (error) {
    const message = cutText(toPlainError(error).message, longestParseError);
    return { issues: [{ message: text.trim() === "" ? "there is no answer" : `it is not JSON: ${message}` }] };
  }
  return validateArgs(schema, value);
}

export function describeMisfit(issues: readonly Issue[]): string {
  const complaint = cutText(renderIssues(issues), longestComplaint);
  return `${misfitNote.start}${complaint}${misfitNote.end}`;
}

/** Removes a code fence around the whole answer, because models often add one. Other mistakes are not repaired. */
function unwrapFence(text: string): string {
  const start = text.indexOf("\n");
  const isFenced = text.startsWith("```") && text.endsWith("```") && start !== -1;
  const language = text.slice(3, start).trim().toLowerCase();
  return isFenced && (language === "json" || language === "") ? text.slice(start + 1, -3) : text;
}
