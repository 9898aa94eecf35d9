// The answers of the caller to calls that wait: approvals, results from outside, and answers to the questions of tools. A wrong answer is
// refused before the run continues, and the call keeps waiting.

import type { LoopOptions, QuestionFields } from "../../types/loop-options.ts";
import type { CallDecision, ApprovalDecision, OutsideResult } from "../../types/policies.ts";
import type { Deferred } from "../../types/tool.ts";
import type { ToolQuestion, WaitingCall } from "../../types/tool-outcome.ts";
import type { Issue, StandardSchema, Validation } from "../../types/common.ts";
import { renderIssues } from "../../tools/outcome-texts.ts";
import { convertSchema, isStandardSchema, issue, validateArgs } from "../../tools/argument-schema.ts";
import { checkFields, type Checks, is, isFilled, isText } from "../../errors/check-fields.ts";
import { deferred, deferredToPage, toRecordedResult } from "../../tools/to-outcome.ts";
import { toDecision } from "../../policies/approval.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { quote } from "../../utils/texts.ts";
import { stableJson } from "../../utils/json.ts";

const mostListed = 10;

/** The problem of a result that a page may not send. The message of the error says what a page may send. */
export const pageProblem = "comes from a page";

export interface Misfit {
  readonly schema: '"outputSchema" of its tool' | "schema of its question";
  readonly issues: readonly Issue[];
}

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

/** Withdraws the questions of a call that has ended. Returns the question that has no answer, if there is one. */
export function takeQuestion(questions: CallQuestions | undefined): Deferred | undefined {
  if (questions === undefined) return undefined;
  questions.withdrawAll();
  const { open } = questions;
  questions.open = undefined;
  return open;
}

export interface Asked {
  readonly question: ToolQuestion;
  readonly schema: StandardSchema | undefined;
  readonly fromPage: boolean;
  readonly wait: boolean;
}

const schemaExpected = "a Standard Schema, such as a zod schema";

const questionChecks: Checks<QuestionFields & { readonly schema: StandardSchema }> = {
  question: ["a string that is not blank", isFilled, undefined, true],
  schema: [schemaExpected, isStandardSchema],
  fromPage: is.flag,
  wait: is.flag,
};

export function readQuestion(fields: QuestionFields & { readonly schema?: StandardSchema | undefined }): Asked {
  checkFields("question", fields, questionChecks);
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
  return isText(answer.result) ? { value: answer.result } : issue("must be a string");
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

function copy(given: CallDecision): CallDecision {
  if (given.kind !== "result" && given.kind !== "failed") return toDecision(given);
  const result = toRecordedResult(given);
  return given.fromPage === true ? { ...result, fromPage: true } : result;
}

/** Decisions by call id. In a nested run, the key is the path of call ids, such as "call_1/call_2". */
export class Decisions {
  readonly #left: Map<string, CallDecision>;
  /** The keys of the calls that wait, in this run and its nested runs. An error message lists them. */
  readonly #waiting: Set<string>;
  /**
   * The keys of decisions that may remain unused, because an earlier execution used the decision, or because the decision came
   * too late.
   */
  readonly #mayRemain: Set<string>;
  readonly #prefix: string;

  constructor(given: LoopOptions["decisions"], outer?: { readonly decisions: Decisions; readonly callId: string }) {
    this.#left =
      outer === undefined ? new Map(Object.entries(given ?? {}).map(([id, one]) => [id, copy(one)])) : outer.decisions.#left;
    this.#waiting = outer === undefined ? new Set() : outer.decisions.#waiting;
    this.#mayRemain = outer === undefined ? new Set() : outer.decisions.#mayRemain;
    this.#prefix = outer === undefined ? "" : `${outer.decisions.#prefix}${outer.callId}/`;
  }

  get isEmpty(): boolean {
    return this.#left.size === 0;
  }

  /** True if a decision for a call inside the nested run of call `callId` is still unused. */
  isLeftInside(callId: string): boolean {
    const path = `${this.#prefix}${callId}/`;
    return [...this.#left.keys()].some((name) => name.startsWith(path) && !this.#mayRemain.has(name));
  }

  isLeft(id: string): boolean {
    return this.#left.has(this.#prefix + id);
  }

  /** True if a decision for this call is still unused. Also counts a later question about the call, such as "call_1#2". */
  isLeftFor(callId: string): boolean {
    const name = this.#prefix + callId;
    return [...this.#left.keys()].some((key) => !this.#mayRemain.has(key) && (key === name || key.startsWith(`${name}#`)));
  }

  /** Throws LoopError "invalid-decision" if the caller passed a result instead of an approval decision. */
  takeApproval(id: string): ApprovalDecision | undefined {
    const decision = this.#find(id);
    if (decision?.kind === "result" || decision?.kind === "failed")
      throw this.refuse(id, "approval", `is ${quote(decision.kind)}`);
    this.#left.delete(this.#prefix + id);
    return decision;
  }

  /** Throws LoopError "invalid-decision" if the caller passed an approval decision instead of a result. */
  findResult(id: string): OutsideResult | undefined {
    const decision = this.#find(id);
    if (decision === undefined || decision.kind === "result" || decision.kind === "failed") return decision;
    // After the decision "ask", the call continues to wait.
    if (decision.kind !== "ask") throw this.refuse(id, "result", `is ${quote(decision.kind)}`);
    this.drop(id);
    return undefined;
  }

  /**
   * Moves a result from the call id to `id`. If the call was approved first, `id` ends with a number, such as "call_1#2", but
   * pages and webhooks know only the call id.
   */
  renameResult(callId: string, id: string): void {
    const [from, to] = [this.#prefix + callId, this.#prefix + id];
    const given = this.#left.get(from);
    if (from === to || (given?.kind !== "result" && given?.kind !== "failed") || this.#left.has(to)) return;
    this.#left.delete(from);
    this.#left.set(to, given);
  }

  drop(id: string): void {
    this.#left.delete(this.#prefix + id);
  }

  #find(id: string): CallDecision | undefined {
    const name = this.#prefix + id;
    this.#waiting.add(name);
    return this.#left.get(name);
  }

  refuse(id: string, waitsFor: WaitingCall["waitsFor"], why: string | Misfit): LoopError<"invalid-decision"> {
    const call = this.#prefix + id;
    if (typeof why === "string") return new LoopError("invalid-decision", { call, waitsFor, problem: why });
    const { schema, issues } = why;
    const problem = `does not fit the ${schema}: ${renderIssues(issues)}`;
    return new LoopError("invalid-decision", { call, waitsFor, problem, issues });
  }

  noteWaiting(id: string): void {
    this.#waiting.add(this.#prefix + id);
  }

  /** Remembers the id of an earlier question about a waiting call. A decision with this id comes too late and has no effect. */
  noteEarlier(id: string): void {
    this.#mayRemain.add(this.#prefix + id);
  }

  /** Remembers a decision that an earlier execution used, because the caller may pass the same decision again. */
  settle(id: string, decided: unknown): void {
    const name = this.#prefix + id;
    const given = this.#left.get(name);
    if (given !== undefined && stableJson({ ...given, fromPage: undefined }) === stableJson(decided)) this.#mayRemain.add(name);
  }

  /** Lets decisions about calls of this run and its nested runs remain unused. Called if the run is being cancelled. */
  excuseUnused(): void {
    for (const path of this.#left.keys()) if (path.startsWith(this.#prefix)) this.#mayRemain.add(path);
  }

  /**
   * Throws LoopError "unknown-decision" for an unused decision. Called before the first new step of the run. By then, every
   * waiting call has taken its decision, so an unused decision is for a call that does not wait. Decisions for calls inside
   * `nestedCalls` may remain unused: "call_1/call_2" is not used until the nested run of "call_1" reaches "call_2".
   */
  refuseUnused(nestedCalls: readonly { readonly callId: string }[] = []): void {
    this.#refuse((path) => path.startsWith(this.#prefix) && !this.#isInside(path, nestedCalls));
  }

  /**
   * Rejects unused decisions about calls inside the nested runs of `calls`. Called after these nested runs have taken their
   * decisions.
   */
  refuseInside(calls: readonly { readonly callId: string }[]): void {
    this.#refuse((path) => this.#isInside(path, calls));
  }

  /**
   * Rejects unused decisions about calls that are neither among `calls` nor inside their nested runs. Called for the outer runs
   * before a nested run takes its first new step, because no call may run if one of the decisions is for an unknown call.
   */
  refuseElsewhere(calls: readonly { readonly callId: string }[]): void {
    const isAbout = (path: string, callId: string): boolean => {
      const name = this.#prefix + callId;
      return path === name || path.startsWith(`${name}#`) || path.startsWith(`${name}/`);
    };
    this.#refuse((path) => path.startsWith(this.#prefix) && !calls.some(({ callId }) => isAbout(path, callId)));
  }

  #isInside(path: string, calls: readonly { readonly callId: string }[]): boolean {
    return calls.some(({ callId }) => path.startsWith(`${this.#prefix}${callId}/`));
  }

  #refuse(isWrong: (path: string) => boolean): void {
    const call = [...this.#left.keys()].find((path) => !this.#mayRemain.has(path) && isWrong(path));
    if (call === undefined) return;
    const waiting = this.#waiting.size === 0 ? {} : { waiting: [...this.#waiting].slice(0, mostListed) };
    throw new LoopError("unknown-decision", { call, ...waiting });
  }
}
