// Lets a tool ask a person a question. The answer comes from the `answers` option of a later execution or from this execution's control.

import type { Issue, Json, JsonSchema, StandardSchema } from "../types/common.ts";
import type { ToolContext } from "../types/loop-options.ts";
import type { OutsideResult } from "../types/middleware-options.ts";
import type { ToolQuestion } from "../types/tool-outcome.ts";
import { convertSchema, isStandardSchema, issue, validateArgs } from "../../shared/argument-schema.ts";
import { type Check, checkFields, type Checks, is, isFilled, table } from "../../shared/errors/check-fields.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { quote } from "../../shared/texts.ts";
import { type InsideCall, insideOf, isDurable } from "../tools/inside-call.ts";
import { holdQuestion } from "./loop-control.ts";

/** A tool's question to a person, for `ask`. */
export interface QuestionFields {
  /** The text of the question. Must not be blank. */
  readonly question: string;
  /** Set to true if a web page may send the answer. Default false. */
  readonly fromPage?: boolean | undefined;
  /**
   * Set to true to wait in this process until `control.answer` is called. While the tool waits, the call's `timeoutMs` and
   * `idleTimeoutMs` are paused. Needs the `control` option on the run or an outer run. Default false.
   */
  readonly wait?: boolean | undefined;
}

/** The fields of a tool's context that are needed to ask a question. */
type AskingContext = Pick<ToolContext, "runId" | "callId" | "name" | "iteration" | "signal" | "step" | "wait">;

type AskedFields = QuestionFields & { readonly schema?: StandardSchema | undefined };

const schemaCheck: Check = ["a Standard Schema, such as a Zod schema", isStandardSchema];

const questionFields: Checks<AskedFields> = /* @__PURE__ */ table(() => ({
  question: ["a non-blank string", isFilled, undefined, true],
  schema: schemaCheck,
  fromPage: is.flag,
  wait: is.flag,
}));

/**
 * Asks a person a question, and resolves to the answer. With a `schema`, the answer is the output of the schema. Without a schema, the
 * answer is a string. The schema must be convertible to JSON Schema, like those of zod 4.
 *
 * The tool needs `durable: true`. The first time, there is no answer, and the call waits. When `answers` contains the answer, the tool runs
 * again from its start, and the same `ask` resolves to the answer. Each execution must ask the same questions in the same order, and run
 * its side effects in `step`. If an answer does not match the schema, the question is asked again. If the answer is `{ kind: "failed",
 * error }`, `ask` rejects with an error named "AnswerFailed" whose message is `error`.
 *
 * With `wait: true`, the tool waits in this process instead, and does not have to be durable. The `question-asked` event contains the
 * question, and `control.answer` takes the answer.
 *
 * Rejects with LoopError "invalid-option" or "unknown-option" for invalid fields.
 *
 * @example const { city } = await ask(context, { question: "Which city?", schema: z.object({ city: z.string() }) });
 */
export function ask<Output>(
  context: AskingContext,
  question: QuestionFields & { readonly schema: StandardSchema<unknown, Output> },
): Promise<Output>;
export function ask(context: AskingContext, question: QuestionFields & { readonly schema?: undefined }): Promise<string>;
export function ask(context: AskingContext, fields: AskedFields): Promise<unknown> {
  const answer = askPerson(context, fields);
  // Marks the promise as handled, so that a tool that ignores it does not crash the process with an unhandled rejection.
  answer.catch(() => {});
  return answer;
}

/** Asks a question. If the context does not belong to a run, as in a test, calls `wait` for every question. */
async function askPerson(context: AskingContext, fields: AskedFields): Promise<unknown> {
  checkFields("question", fields, questionFields);
  const { question: text, schema, fromPage = false, wait: isLive = false } = fields;
  const asked: ToolQuestion = { text, schema: toJsonSchema(schema) };
  const inside = insideOf(context);
  if (inside?.deadline?.isOver === true) throw new Error("The tool call has ended, so it cannot ask a question.");
  const read = readerOf(schema);
  if (inside !== undefined && isLive) return resultOf(await askLive(context, inside, { asked, fromPage, read }));
  if (inside !== undefined && !isDurable(inside.run, context.name))
    throw new Error(`The tool ${quote(context.name)} needs "durable: true" to use ask without "wait: true".`);
  const reader: StandardSchema<unknown, Read> = {
    "~standard": { version: 1, vendor: "turnwright", validate: async (given) => ({ value: await read(given) }) },
  };
  const put = (question: ToolQuestion): Promise<Read> => {
    const facts = { question, ...(fromPage && { fromPage }) };
    return context.wait("question", facts as unknown as Json, { schema: reader });
  };
  return resultOf(await putUntilFit(asked, put));
}

type Read = Fitting | { readonly issues: readonly Issue[] };

type Fitting = { readonly given: OutsideResult } & ({ readonly value: unknown } | { readonly error: string });

type Reader = (given: unknown) => Promise<Read>;

/** Returns a function that validates an answer. The loop has already checked the answer's `kind`. */
function readerOf(schema: StandardSchema | undefined): Reader {
  return async (answer) => {
    const given = answer as OutsideResult;
    if (given.kind === "failed") return { given, error: given.error };
    if (schema === undefined && typeof given.result !== "string") return issue("must be a string");
    const checked = schema === undefined ? { value: given.result } : await validateArgs(schema, given.result);
    return "issues" in checked ? checked : { given, value: checked.value };
  };
}

function resultOf(read: Fitting): unknown {
  if ("error" in read) throw Object.assign(new Error(read.error), { name: "AnswerFailed" });
  return read.value;
}

/** The maximum number of answers to a question. Without this limit, a program that always answers incorrectly would be asked forever. */
const maxAnswers = 20;

async function putUntilFit(asked: ToolQuestion, put: (question: ToolQuestion) => Promise<Read>): Promise<Fitting> {
  let question = asked;
  for (let round = 0; round < maxAnswers; round += 1) {
    const read = await put(question);
    if (!("issues" in read)) return read;
    question = { ...asked, issues: read.issues };
  }
  throw new Error(`None of the ${maxAnswers} answers fits the question's schema.`);
}

interface LiveQuestion {
  readonly asked: ToolQuestion;
  readonly fromPage: boolean;
  readonly read: Reader;
}

/** Asks a question during a run. A durable tool records the valid answer, so that its next execution does not ask again. */
async function askLive(context: AskingContext, inside: InsideCall, { asked, fromPage, read }: LiveQuestion): Promise<Fitting> {
  let fitting: Read | undefined;
  const put = async (question: ToolQuestion): Promise<Read> => read(await holdQuestion(context, inside, { question, fromPage }));
  const answer = async (): Promise<OutsideResult> => {
    const made = await putUntilFit(asked, put);
    fitting = made;
    return made.given;
  };
  const given = await (isDurable(inside.run, context.name) ? context.step("answer", answer) : answer());
  fitting ??= await inside.inCore(() => read(given));
  if ("issues" in fitting) throw new Error("The recorded answer no longer fits the question's schema.");
  return fitting;
}

function toJsonSchema(schema: StandardSchema | undefined): JsonSchema {
  if (schema === undefined) return { type: "string" };
  const converted = convertSchema(schema);
  if ("json" in converted) return converted.json;
  const received = `a schema that ${converted.problem}`;
  throw new LoopError("invalid-option", { option: "question.schema", expected: schemaCheck[0], received });
}
