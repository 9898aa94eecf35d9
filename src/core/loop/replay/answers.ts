// Assigns outside answers to the calls that wait for them, and refuses invalid answers.

import type { Json, Validation } from "../../types/common.ts";
import { readIssues } from "../execute-tool-call.ts";
import { type CheckResult, findAnswerProblem, isNoAnswer, toRecordedAnswer } from "../../../shared/answer-problem.ts";
import { askCaller } from "../../../shared/ask-caller.ts";
import { toPlainError } from "../../../shared/plain-error.ts";
import { isOutsideResult } from "../../../shared/to-outcome.ts";
import { isRecord } from "../../../shared/guards.ts";
import { isSameJson, toJson } from "../../../shared/json.ts";
import type { Run } from "../run.ts";
import { toWaitingCall } from "../durability/waiting-calls.ts";
import { readAttempts, type RecordedWait, readWaits } from "./read-waits.ts";

/** This execution's answers, by wait id. */
export type Answers = Map<string, Json>;

type Attempts = readonly [RecordedWait, ...RecordedWait[]];

/** Returns a wait's attempts, starting with the attempt that has this name. */
async function findAttempts({ journal }: Run, name: string): Promise<Attempts | undefined> {
  for (const id of [name, name.replace(/~(?:[2-9]|[1-9]\d+)$/s, "")]) {
    const all = await readAttempts(async (key) => journal.read(key), id);
    const [found, ...newer] = all.slice(all.findIndex((one) => one.id === name));
    if (found?.id === name) return [found, ...newer];
  }
  return undefined;
}

/**
 * Checks the answers before anything runs. Returns the name of an answer that nothing is waiting for. Throws LoopError
 * "invalid-decision" for an answer that is not valid for its wait. An answer that was used before may be given again.
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
    // Stores the result unchecked, because it is checked when the loop reaches the call that waits for it.
    answers.set(result, given);
  }
  return undefined;
}

interface FoundAnswer {
  readonly attempts: Attempts;
  readonly given: Json;
  readonly answers: Answers;
}

/** True if nothing is waiting for the answer. Throws LoopError "invalid-decision" for an invalid answer. */
async function isUnused(run: Run, { attempts, given, answers }: FoundAnswer): Promise<boolean> {
  const [wait] = attempts;
  if (wait.answer !== undefined) return !isSameJson(wait.answer.value, toRecordedAnswer(toWaitingCall(wait), given));
  const newest = attempts.at(-1);
  if (newest !== undefined && newest !== wait) {
    if (wait.what === "approval" && newest.answer === undefined) passDenial(answers, wait.id, newest.id);
    return false;
  }
  // A nested run's tools are unknown until that run reaches the call, so a result for such a call is checked later.
  const isLater = wait.what === "result" && wait.id.includes("/");
  const isChecked = !isLater && !isNoAnswer(given);
  const problem = isChecked ? await findAnswerProblem(toWaitingCall(wait), given, resultChecker(run)) : undefined;
  if (problem !== undefined) throw problem;
  return false;
}

/**
 * Passes on a denial if the tool has changed since the question was asked. An approval applied only to the earlier tool, but a denial
 * applies to the call.
 */
export function passDenial(answers: Answers, earlier: string, id: string): void {
  const given = answers.get(earlier);
  if (isRecord(given) && given["kind"] === "deny" && !answers.has(id)) answers.set(id, given);
}

/** Returns the wait for a call's result. The result may be given under the call's id, although the approval used the same id before. */
async function findResultWait({ journal }: Run, { key, what }: RecordedWait, given: Json): Promise<string | undefined> {
  if (what !== "approval" || !isOutsideResult(given)) return undefined;
  const waits = await readWaits(async (name) => journal.read(name), key.replace(/^wait\/|\/\d+$/g, ""));
  return waits.slice(1).find((wait) => wait.what === "result")?.id;
}

/** Returns the name of an answer that arrived after its call had ended. `path` is the call's id. */
export async function findLateAnswer(run: Run, answers: Answers, path: string): Promise<string | undefined> {
  for (const [name, given] of answers) {
    if (!name.startsWith(path) || !/^(?:[/#~]|$)/.test(name.slice(path.length)) || isNoAnswer(given)) continue;
    const [found] = (await findAttempts(run, name)) ?? [];
    if (found !== undefined && found.answer === undefined) return name;
  }
  return undefined;
}

/** Returns a function that checks a result against its tool's schema, for at most `timeouts.callbackMs`. */
export function resultChecker({ registry, scope, clock, timeouts, signal }: Run): CheckResult {
  return async (name, result) => {
    if (registry.validateResult === undefined) return undefined;
    const check = (): Promise<Validation> | Validation | undefined => registry.validateResult?.(name, toJson(result));
    return askCaller(check, { clock, ms: timeouts.callbackMs, signal }).then(readIssues, (error: unknown) =>
      scope.cause === undefined ? [{ message: `could not be checked: ${toPlainError(error).message}` }] : undefined,
    );
  };
}
