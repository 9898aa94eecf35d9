// Requests a final answer that matches a schema, validates it, and asks again if it does not match.

import type { Issue, Json, JsonSchema, StandardSchema, Validation } from "../types/common.ts";
import type { StructuredOutputOptions } from "../types/middleware-options.ts";
import type { RequestedOutput } from "../types/provider.ts";
import { misfitNote } from "../../shared/model-notes.ts";
import { renderIssues } from "../../shared/to-outcome.ts";
import { cutText } from "../../shared/texts.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import { checkFields, type Checks } from "../../shared/errors/check-fields.ts";
import { isRecord } from "../../shared/guards.ts";
import { isPlainData, parseModelJson, toJson } from "../../shared/json.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { convertSchema, isStandardSchema, validateArgs } from "../../shared/argument-schema.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import type { Answer, Hooks, RequestDraft, RunFacts, State, StructuredOutput } from "../types/middleware.ts";
import { askCaller } from "../../shared/ask-caller.ts";

/** The maximum length of the list of issues in the message to the model, in characters. */
const maxComplaintLength = 2_000;
const maxParseErrorLength = 300;

const checks: Checks<StructuredOutputOptions> = {
  jsonSchema: ["a JSON Schema: an object of plain data", (value) => isRecord(value) && isPlainData(value)],
  native: true,
  maxRetries: { min: 0 },
};

/**
 * Requests a final answer that matches `schema`, a Standard Schema such as a zod schema. An answer that fails validation is
 * requested again. `result.output` is the validated value, as plain data, so JSON must be able to represent this value.
 *
 * Throws LoopError "unknown-option" or "invalid-option". Also throws "invalid-option" if the schema cannot be converted to JSON
 * Schema and `jsonSchema` is not set.
 *
 * @example
 * const { output } = await runToolLoop({ provider, messages, middleware: [structuredOutput(z.object({ city: z.string() }))] });
 */
export function structuredOutput<Output>(
  schema: StandardSchema<unknown, Output>,
  options: StructuredOutputOptions = {},
): StructuredOutput<Output> {
  if (!isStandardSchema(schema))
    throw invalidOption("structuredOutput.schema", "a Standard Schema, such as a Zod schema", schema);
  checkFields("structuredOutput", options, checks);
  const { jsonSchema = schemaOf(schema), native = true, maxRetries = 2 } = options;
  const ask = "Give your final answer as JSON that fits this JSON Schema, with nothing before or after it:";
  const prompt = `${ask}\n${JSON.stringify(jsonSchema)}`;
  const requested = native ? { schema: jsonSchema, instructions: prompt } : undefined;
  return { name: "structured-output", schema, begin: (run) => createHooks({ schema, prompt, requested, maxRetries }, run) };
}

function schemaOf(schema: StandardSchema): JsonSchema {
  const made = convertSchema(schema);
  if (!("problem" in made)) return made.json;
  const expected = 'a schema that can be converted to JSON Schema, or have a "jsonSchema" option';
  const details = { option: "structuredOutput.schema", expected, received: `a schema that ${made.problem}` };
  throw new LoopError("invalid-option", details, { cause: made.cause });
}

interface AnswerRules<Output> {
  readonly schema: StandardSchema<unknown, Output>;
  /** The text that describes the schema to the model. */
  readonly prompt: string;
  /** The schema for a provider with `structuresOutput`. */
  readonly requested: RequestedOutput | undefined;
  readonly maxRetries: number;
}

type Checked = { readonly value: Json } | { readonly issues: readonly Issue[] };

function createHooks<Output>(rules: AnswerRules<Output>, run: RunFacts): Hooks {
  const { schema, maxRetries } = rules;
  let checked: Checked | undefined;
  let invalid = 0;
  return {
    async request(request, next, at) {
      const { look, continuation, steered, isGranted } = at.state;
      // A new user message is a new question, so the count of invalid answers starts again.
      const isNew = look?.retries === true || steered.length > 0;
      if (continuation === 0 && isNew) invalid = 0;
      checked = undefined;
      const answer = await next(describeOutput(request, rules));
      // Also validates an answer granted by `finalAnswer`, although the run ends after it either way.
      const text = answer.ends === undefined || isGranted ? finalTextOf(answer, at.state) : undefined;
      // Validates now rather than when the run ends, so that a user message arriving meanwhile still gets an answer.
      if (text !== undefined) checked = await at.step("output", () => validate(text, schema, { run, signal: at.signal }));
      return answer;
    },
    async beforeEnd({ reason }) {
      if (reason.kind !== "answered" || checked === undefined || "value" in checked) return undefined;
      invalid += 1;
      const { issues } = checked;
      if (invalid <= maxRetries) return { again: [{ role: "user", content: describeMisfit(issues) }] };
      return { ending: { status: "error", reason: { kind: "invalid-output", issues, attempts: invalid } } };
    },
    result: () => ({ output: checked !== undefined && "value" in checked ? (checked.value as Output) : undefined }),
  };
}

/** Puts the schema into the system text if the provider cannot send it as a field. */
function describeOutput(
  request: RequestDraft,
  { requested, prompt }: Pick<AnswerRules<unknown>, "requested" | "prompt">,
): RequestDraft {
  const { provider, system } = request;
  if (provider.structuresOutput === true && requested !== undefined) return { ...request, output: requested };
  return { ...request, system: system === undefined ? prompt : `${system}\n\n${prompt}` };
}

/** Returns the run's text if this message ends the run with an answer. */
function finalTextOf(answer: Answer, { current, continuation, finalText, contentDelivered }: State): string | undefined {
  if (isUnfinished(answer)) return undefined;
  const whole = continuation === 0 ? answer.text : current.text + answer.text;
  const text = whole.trim() === "" ? finalText : whole;
  const isEmpty = answer.status === "empty-response" && (text !== "" || contentDelivered);
  return (answer.status === "completed" && answer.reason?.kind === "answered") || isEmpty ? text : undefined;
}

interface ValidationPorts {
  readonly run: RunFacts;
  readonly signal: AbortSignal;
}

async function validate(text: string, schema: StandardSchema, { run, signal }: ValidationPorts): Promise<Checked> {
  const limits = { clock: run.clock, ms: run.timeouts.callbackMs, signal };
  const validation: Validation = await askCaller(() => validateOutput(text, schema), limits);
  return "issues" in validation ? { issues: validation.issues } : { value: toPlain(validation.value) };
}

/** Converts a value to JSON, as the journal stores it, so that a replayed run returns an equal value. */
function toPlain(value: unknown): Json {
  try {
    return toJson(value);
  } catch (error) {
    throw new TypeError(`The schema returned a value that is not plain data: ${toPlainError(error).message}.`, { cause: error });
  }
}

/** Validates an answer. Returns a promise only if the schema validates asynchronously. */
export function validateOutput(text: string, schema: StandardSchema): Validation | Promise<Validation> {
  let value: unknown;
  try {
    value = parseModelJson(unwrapFence(text.trim()));
  } catch (error) {
    const message = cutText(toPlainError(error).message, maxParseErrorLength);
    return { issues: [{ message: text.trim() === "" ? "there is no answer" : `it is not JSON: ${message}` }] };
  }
  return validateArgs(schema, value);
}

export function describeMisfit(issues: readonly Issue[]): string {
  const complaint = cutText(renderIssues(issues), maxComplaintLength);
  return `${misfitNote.start}${complaint}${misfitNote.end}`;
}

/** Removes a code fence around the whole answer, because models often add one. Other mistakes are not repaired. */
function unwrapFence(text: string): string {
  const start = text.indexOf("\n");
  const isFenced = text.startsWith("```") && text.endsWith("```") && start !== -1;
  const language = text.slice(3, start).trim().toLowerCase();
  return isFenced && (language === "json" || language === "") ? text.slice(start + 1, -3) : text;
}
