// Answers from outside: which wait they belong to, whether they fit, and what happens to those that do not.

import type { Issue, Json, Validation } from "../../types/common.ts";
import type { OutsideResult } from "../../types/policies.ts";
import type { WaitingCall } from "../../types/tool-outcome.ts";
import { LoopError } from "../../../shared/errors/loop-error.ts";
import { readIssues } from "../prepare-call.ts";
import { isApproval } from "../../../shared/approval.ts";
import { askCaller } from "../../../shared/ask-caller.ts";
import { toPlainError } from "../../../shared/plain-error.ts";
import { isOutsideResult, isQuestion, pageProblem, renderIssues } from "../../../shared/to-outcome.ts";
import { edges } from "../../../shared/edges.ts";
import { isRecord } from "../../../shared/guards.ts";
import { isSameJson, toJson } from "../../../shared/json.ts";
import { describeValue, quote } from "../../../shared/texts.ts";
import type { Run } from "../run.ts";
import type { Wait } from "../../types/middleware.ts";
import { readAttempts, type RecordedWait, readWaits } from "./read-waits.ts";

/** The answers of this execution, by the ids of their waits. */
export type Answers = Map<string, Json>;

type Attempts = readonly [RecordedWait, ...RecordedWait[]];

/** Returns the attempts of a wait, from the one with this name on. */
async function findAttempts({ journal }: Run, name: string): Promise<Attempts | undefined> {
  for (const id of [name, name.replace(/~(?:[2-9]|[1-9]\d+)$/s, "")]) {
    const all = await readAttempts(async (key) => journal.read(key), id);
    const [found, ...newer] = all.slice(all.findIndex((one) => one.id === name));
    if (found?.id === name) return [found, ...newer];
  }
  return undefined;
}

/**
 * Checks the answers before anything runs. Returns the name of an answer that nothing waits for. Throws LoopError
 * "invalid-decision" for an answer that does not fit its wait. An answer that was used before may be given again.
 */
export async function checkAnswers(run: Run, answers: Answers): Promise<string | undefined> {
  if (run.scope.cause !== undefined) return undefined;
  for (const [name, given] of answers) {
    const attempts = await findAttempts(run, name);
    if (attempts === undefined) return name;
    const result = await findResultWait(run, attempts[0], given);
    if (result === undefined) {
      if (await isUnused(run, { attempts, given, answers })) return name;
      continue;
    }
    if (answers.has(result)) return name;
    answers.delete(name);
    // Checked later in this loop.
    answers.set(result, given);
  }
  return undefined;
}

interface FoundAnswer {
  readonly attempts: Attempts;
  readonly given: Json;
  readonly answers: Answers;
}

/** True for an answer that nothing waits for. Throws LoopError "invalid-decision" for an answer that does not fit. */
async function isUnused(run: Run, { attempts, given, answers }: FoundAnswer): Promise<boolean> {
  const [wait] = attempts;
  if (wait.answer !== undefined) return !isSameJson(withoutSource(wait.answer.value), withoutSource(given));
  const newest = attempts.at(-1);
  if (newest !== undefined && newest !== wait) {
    if (wait.what === "approval" && newest.answer === undefined) passDenial(answers, wait.id, newest.id);
    return false;
  }
  // The tool of a call in a nested run is known when the nested run gets to it.
  const isLater = wait.what === "result" && wait.id.includes("/");
  const problem = isLater ? undefined : await findAnswerProblem(run, wait, given);
  if (problem !== undefined) throw problem;
  return false;
}

/** The tool has changed since somebody was asked: an approval was about the earlier tool, but a denial is about the call. */
export function passDenial(answers: Answers, earlier: string, id: string): void {
  const given = answers.get(earlier);
  if (isRecord(given) && given["kind"] === "deny" && !answers.has(id)) answers.set(id, given);
}

/** Returns the id of a result that may be passed under the id of its call, although the approval waited under that id before. */
async function findResultWait({ journal }: Run, { key, what }: RecordedWait, given: Json): Promise<string | undefined> {
  if (what !== "approval" || !isOutsideResult(given)) return undefined;
  const waits = await readWaits(async (name) => journal.read(name), key.replace(/^wait\/|\/\d+$/g, ""));
  return waits.slice(1).find((wait) => wait.what === "result")?.id;
}

/** Returns the name of an answer for a wait of a call that has ended without it. `path` is the id of the call. */
export async function findLateAnswer(run: Run, answers: Answers, path: string): Promise<string | undefined> {
  for (const [name, given] of answers) {
    if (!name.startsWith(path) || !/^(?:[/#~]|$)/.test(name.slice(path.length)) || isNoAnswer(given)) continue;
    const [found] = (await findAttempts(run, name)) ?? [];
    if (found !== undefined && found.answer === undefined) return name;
  }
  return undefined;
}

/** The record of an answer does not depend on the way on which the answer came. */
export function withoutSource(answer: Json): Json {
  if (!isRecord(answer) || answer["fromPage"] === undefined) return answer;
  const { fromPage: _, ...rest } = answer;
  return rest;
}

/** True for an answer that leaves its wait open. */
export function isNoAnswer(answer: Json): boolean {
  return isRecord(answer) && answer["kind"] === "ask";
}

type AnsweredWait = Pick<Wait, "id" | "what" | "facts" | "schema" | "until">;

/** Returns the error of an answer that does not fit its wait. */
export async function findAnswerProblem(
  run: Run,
  wait: AnsweredWait,
  given: Json,
): Promise<LoopError<"invalid-decision"> | undefined> {
  const { id: call, what, facts } = wait;
  const kind = isRecord(given) ? given["kind"] : undefined;
  if (what === "approval")
    return isApproval(given) || kind === "ask" ? undefined : refuse(call, what, `is ${describeKind(given)}`);
  const asked = isQuestion(wait) ? wait.facts : undefined;
  if (kind === "ask") return undefined;
  if (what !== "result" && asked === undefined) return findOwnProblem(wait, given);
  const shown = { id: call, facts: isRecord(facts) ? facts : {}, question: asked?.question };
  const problem = await findResultProblem(run, shown, given);
  return problem === undefined ? undefined : refuse(call, "result", problem);
}

/** A custom wait checks its answer again, with the whole schema, when other calls may be running. */
function findOwnProblem({ id, schema, until }: AnsweredWait, given: Json): LoopError<"invalid-decision"> | undefined {
  const issue = given === null && until !== undefined ? undefined : edges.findAnswerIssue?.(schema, withoutSource(given));
  return issue && refuse(id, "answer", { schema: "schema of the wait", issues: [issue] });
}

function describeKind(given: Json): string {
  const kind = isRecord(given) ? given["kind"] : undefined;
  return typeof kind === "string" ? quote(kind) : describeValue(given);
}

interface ResultWait {
  readonly id: string;
  readonly facts: { readonly [name: string]: unknown };
  readonly question: unknown;
}

async function findResultProblem(run: Run, wait: ResultWait, given: Json): Promise<string | Misfit | undefined> {
  const { facts, question } = wait;
  const kind = isRecord(given) ? given["kind"] : undefined;
  if (kind === "approve" || kind === "deny" || kind === "modify") return `is ${quote(kind)}`;
  if (!isOutsideResult(given)) return `is ${describeValue(given)}`;
  if (given.fromPage === true && facts["fromPage"] !== true) return pageProblem;
  return isRecord(question) ? findMisplaced(question, given) : findUnfit(run, wait, given);
}

interface Misfit {
  readonly schema: string;
  readonly issues: readonly Issue[];
}

function findMisplaced(question: { readonly schema?: unknown }, given: OutsideResult): Misfit | undefined {
  const issue = given.kind === "result" ? edges.findAnswerIssue?.(question.schema, given.result) : undefined;
  return issue && { schema: "schema of its question", issues: [issue] };
}

async function findUnfit(run: Run, { facts }: ResultWait, given: OutsideResult): Promise<Misfit | undefined> {
  const name = facts["name"];
  const { registry, scope, clock, timeouts } = run;
  if (typeof name !== "string" || given.kind === "failed" || registry.validateResult === undefined) return undefined;
  const check = (): Promise<Validation> | Validation | undefined => registry.validateResult?.(name, toJson(given.result));
  const issues = await askCaller(check, { clock, ms: timeouts.hookMs, signal: run.signal }).then(readIssues, (error: unknown) => {
    if (scope.cause !== undefined) return undefined;
    return [{ message: `could not be checked: ${toPlainError(error).message}` }];
  });
  return issues && { schema: '"outputSchema" of its tool', issues };
}

function refuse(call: string, waitsFor: WaitingCall["waitsFor"], why: string | Misfit): LoopError<"invalid-decision"> {
  if (typeof why === "string") return new LoopError("invalid-decision", { call, waitsFor, problem: why });
  const { schema, issues } = why;
  const problem = `does not fit the ${schema}: ${renderIssues(issues)}`;
  return new LoopError("invalid-decision", { call, waitsFor, problem, issues });
}
