// Explains why an answer from outside the run is not valid for the call that is waiting for it.

import type { Issue, Json } from "../core/types/common.ts";
import type { WaitingCall } from "../core/types/tool-outcome.ts";
import { isApproval } from "./approval.ts";
import { edges } from "./edges.ts";
import { LoopError } from "./errors/loop-error.ts";
import { isRecord } from "./guards.ts";
import { describeValue, quote } from "./texts.ts";
import { isOutsideResult, pageProblem, renderIssues } from "./to-outcome.ts";

/** The facts about a wait that determine which answers are valid. */
export type AnsweredWait = Pick<WaitingCall, "id" | "name" | "waitsFor" | "fromPage" | "question" | "schema" | "until">;

/** Checks a result against the `outputSchema` of the tool `name`. Returns undefined if the result is valid, or is checked later. */
export type CheckResult = (name: string, result: unknown) => PromiseLike<readonly Issue[] | undefined>;

/** Why an answer is not valid, and the issues that its schema reported. */
type Problem = readonly [problem: string, issues?: readonly Issue[]];

/**
 * Returns the problem with an answer that is not valid for its wait. The run itself later checks an answer to a middleware's wait against
 * the whole schema.
 */
export async function findAnswerProblem(
  wait: AnsweredWait,
  given: Json,
  checkResult?: CheckResult,
): Promise<LoopError<"invalid-decision"> | undefined> {
  const { id: call, waitsFor } = wait;
  const found = waitsFor === "result" ? await findResultProblem(wait, given, checkResult) : findCustomProblem(wait, given);
  if (found === undefined) return undefined;
  const [problem, issues] = found;
  return new LoopError("invalid-decision", { call, waitsFor, problem, ...(issues && { issues }) });
}

function findCustomProblem(wait: AnsweredWait, given: Json): Problem | undefined {
  const { waitsFor, schema, until, fromPage } = wait;
  if (waitsFor === "approval") return isApproval(given) ? undefined : [describeKind(given)];
  if (isFromPage(given)) {
    if (fromPage !== true) return [pageProblem];
    if (given["kind"] !== "result") return [describeKind(given)];
  }
  const answer = toRecordedAnswer(wait, given);
  // Null is the automatic answer after a timeout, so it is valid only if the wait has a time limit.
  return answer === null && until !== undefined ? undefined : findMisfit("schema passed to wait", schema, answer);
}

function isFromPage(given: Json): given is { readonly [field: string]: Json } {
  return isRecord(given) && given["fromPage"] === true;
}

async function findResultProblem(
  { name, fromPage, question }: AnsweredWait,
  given: Json,
  checkResult: CheckResult | undefined,
): Promise<Problem | undefined> {
  if (!isOutsideResult(given)) return [describeKind(given)];
  if (given.fromPage === true && fromPage !== true) return [pageProblem];
  if (given.kind === "failed") return undefined;
  if (isRecord(question)) return findMisfit("schema of the question", question["schema"], given.result);
  return toProblem(`tool's "outputSchema"`, (await checkResult?.(name, given.result)) ?? []);
}

function findMisfit(name: string, schema: unknown, value: unknown): Problem | undefined {
  const issue = edges.findAnswerIssue?.(schema, value);
  return toProblem(name, issue === undefined ? [] : [issue]);
}

function toProblem(name: string, issues: readonly Issue[]): Problem | undefined {
  return issues.length === 0 ? undefined : [`does not fit the ${name}: ${renderIssues(issues)}`, issues];
}

function describeKind(given: Json): string {
  const kind = isRecord(given) ? given["kind"] : undefined;
  return `is ${typeof kind === "string" ? quote(kind) : describeValue(given)}`;
}

/**
 * Returns an answer in the form that is recorded, however it arrived. A web page answers a middleware's or a durable tool's wait with a
 * result.
 */
export function toRecordedAnswer({ waitsFor }: Pick<AnsweredWait, "waitsFor">, given: Json): Json {
  if (!isRecord(given) || given["fromPage"] === undefined) return given;
  const { fromPage: _, ...rest } = given;
  return waitsFor === "answer" && isFromPage(given) ? (rest["result"] ?? null) : rest;
}

/** True for an answer that decides nothing. Its wait stays open. */
export function isNoAnswer(answer: Json): boolean {
  return isRecord(answer) && answer["kind"] === "ask";
}
