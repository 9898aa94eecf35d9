// Makes a value of the model's answer: what the model is told beforehand, how its text is read, and what it hears where that does not fit.

import type { OutputPolicy } from "../types/policies.ts";
import type { Issue, JsonSchema, StandardSchema, Validation } from "../types/common.ts";
import { LoopError } from "../errors/loop-error.ts";
import { cutText } from "../utils/texts.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { convertSchema, validateArgs } from "../tools/argument-schema.ts";
import { renderIssues } from "../tools/render-outcome.ts";

/** The most that a model reads of what is wrong, in characters. */
const longestComplaint = 2_000;
const longestParseError = 300;

/** An answer that is wanted. */
export interface WantedOutput {
  readonly schema: StandardSchema;
  /** What the model is told of it, in the system text. */
  readonly prompt: string;
}

/** Takes what a run needs of the policy. Throws LoopError "invalid-option" where the schema cannot become JSON Schema. */
export function toWantedOutput(policy: OutputPolicy): WantedOutput {
  const ask = "Give your final answer as JSON that fits this JSON Schema, with nothing before or after it:";
  return { schema: policy.schema, prompt: `${ask}\n${JSON.stringify(schemaOf(policy))}` };
}

function schemaOf({ schema, jsonSchema }: OutputPolicy): JsonSchema {
  if (jsonSchema !== undefined) return jsonSchema;
  const made = convertSchema(schema);
  if (!("problem" in made)) return made.json;
  const expected = 'a schema that can become JSON Schema, or have a "jsonSchema" beside it';
  const details = { option: "policies.output.schema", expected, received: `one that ${made.problem}` };
  throw new LoopError("invalid-option", details, { cause: made.cause });
}

/** Reads the answer, and asks the schema; a promise only where the schema itself answers with one. */
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

/** What the model reads of an answer that does not fit. */
export function describeMisfit(issues: readonly Issue[]): string {
  const complaint = cutText(renderIssues(issues), longestComplaint);
  return `Your answer does not fit the schema: ${complaint}\nSend the whole answer again, as JSON and nothing else.`;
}

/** Models like to put JSON into a fenced block. One around the whole answer is taken off; nothing else is mended. */
function unwrapFence(text: string): string {
  const start = text.indexOf("\n");
  const isFenced = text.startsWith("```") && text.endsWith("```") && start !== -1;
  const language = text.slice(3, start).trim().toLowerCase();
  return isFenced && (language === "json" || language === "") ? text.slice(start + 1, -3) : text;
}
