// The questions of tools, and the answers of the caller to them.

import type { QuestionFields } from "../types/loop-options.ts";
import type { OutsideResult } from "../types/policies.ts";
import type { Deferred } from "../types/tool.ts";
import type { ToolQuestion } from "../types/tool-outcome.ts";
import type { Issue, StandardSchema, Validation } from "../types/common.ts";
import { convertSchema, issue, validateArgs } from "../../shared/argument-schema.ts";
import { deferred, deferredToPage } from "../../shared/to-outcome.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { edges } from "../../shared/edges.ts";
import { stableJson } from "../../shared/json.ts";

/** The problem of a result that a page may not send. The message of the error says what a page may send. */
export const pageProblem = "comes from a page";

export interface GivenAnswer {
  readonly question: ToolQuestion;
  readonly decision: OutsideResult;
}

export interface CallQuestions {
  answers: readonly GivenAnswer[];
  /** The position of the answer that the next `ask` of this execution gets. */
  next: number;
  /** Set when the tool asked a question that has no answer yet. */
  open: Deferred | undefined;
  /** The number of questions that have waited in this process. */
  count: number;
  /** Each function withdraws one question that waits in this process. */
  readonly withdraw: Set<() => void>;
  /** Withdraws all questions of the call. */
  readonly withdrawAll: () => void;
}

export function createQuestions(answers: readonly GivenAnswer[] = []): CallQuestions {
  const withdraw = new Set<() => void>();
  const withdrawAll = (): void => {
    for (const one of [...withdraw]) one();
  };
  return { answers, next: 0, open: undefined, count: 0, withdraw, withdrawAll };
}

export interface Asked {
  readonly question: ToolQuestion;
  readonly schema: StandardSchema | undefined;
  readonly fromPage: boolean;
  readonly wait: boolean;
}

const schemaExpected = "a Standard Schema, such as a zod schema";

export function readQuestion(fields: QuestionFields & { readonly schema?: StandardSchema | undefined }): Asked {
  edges.checkGiven?.("ask", fields);
  const { question: text, schema, fromPage = false, wait = false } = fields;
  const converted = schema === undefined ? { json: { type: "string" } } : convertSchema(schema);
  if ("problem" in converted) {
    const received = `a schema that ${converted.problem}`;
    throw new LoopError("invalid-option", { option: "question.schema", expected: schemaExpected, received });
  }
  return { question: { text, schema: converted.json }, schema, fromPage, wait };
}

/** Validates an answer. If the answer reports a failure, throws an error with the text of the failure. */
export function checkAnswerOf(schema: StandardSchema | undefined, answer: OutsideResult): Validation | Promise<Validation> {
  if (answer.kind === "failed") throw Object.assign(new Error(answer.error), { name: "AnswerFailed" });
  if (schema !== undefined) return validateArgs(schema, answer.result);
  return typeof answer.result === "string" ? { value: answer.result } : issue("must be a string");
}

/**
 * Returns the answer to a question. An answer that does not fit the schema is skipped: the question was asked again after such an
 * answer. Throws if no answer is left, so that this execution of the tool ends and the call waits.
 */
export async function answerQuestion(questions: CallQuestions, { question, schema, fromPage }: Asked): Promise<unknown> {
  let issues: readonly Issue[] | undefined;
  for (;;) {
    const given = questions.answers[questions.next];
    if (given === undefined) break;
    questions.next += 1;
    if (given.question.text !== question.text || stableJson(given.question.schema) !== stableJson(question.schema))
      throw new Error(
        `The tool asked a different question than before, so the answer to "${given.question.text}" was not used. A tool must ask the same questions in each execution.`,
      );
    const found = checkAnswerOf(schema, given.decision);
    const checked = found instanceof Promise ? await found : found;
    if (!("issues" in checked)) return checked.value;
    issues = checked.issues;
  }
  questions.open ??= deferUntilAnswered(issues === undefined ? question : { ...question, issues }, fromPage);
  throw new Error("The question has no answer yet, so this execution of the tool ends. Do not catch this error.");
}

function deferUntilAnswered(question: ToolQuestion, fromPage: boolean): Deferred {
  return { ...(fromPage ? deferredToPage : deferred), question };
}
