// Finds the answer that a call waits for, either in the journal or among this execution's answers.

import type { Issue, Json } from "../../types/common.ts";
import type { Wait, WaitingSubject } from "../../types/middleware.ts";
import type { WaitOptions } from "../../types/wait.ts";
import { LoopError } from "../../../shared/errors/loop-error.ts";
import { findAnswerProblem, isNoAnswer, toRecordedAnswer } from "../../../shared/answer-problem.ts";
import { isSameJson } from "../../../shared/json.ts";
import { validateArgs } from "../../../shared/argument-schema.ts";
import { renderIssues } from "../../../shared/to-outcome.ts";
import { findToolChanges } from "../../tools/registry.ts";
import { type Activity, Parked, type OpenedWait } from "../activity.ts";
import { type AskedWait, waitKey } from "../journals.ts";
import { toWaitingCall } from "../durability/waiting-calls.ts";
import { type Answers, passDenial, resultChecker } from "./answers.ts";
import { changesSince, toWaitId } from "./read-waits.ts";

/** The run whose waits are answered. */
export interface AnsweredRun {
  readonly shared: {
    readonly answers: Answers;
    /** The ids of the waits that have no answer yet. */
    readonly opened: Set<string>;
  };
  /** True if the run ended while the call was waiting, so answers can no longer be used. */
  readonly isSealed: boolean;
  refuse(cause: LoopError): Error;
}

interface Asking<Answer> {
  readonly wait: OpenedWait;
  readonly options: WaitOptions<Answer>;
}

/**
 * Reads the recorded answer to a wait, or takes it from the `answers` option. Opens the wait again if the facts shown to the person have
 * changed.
 */
export async function findAnswer<Answer>(
  past: AnsweredRun,
  activity: Activity,
  asking: Asking<Answer>,
): Promise<Answer | Parked> {
  const { journal } = activity;
  const { wait, options } = asking;
  const { id, ...shown } = wait;
  let before: AskedWait | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const key = waitKey(id, attempt);
    const asked = await activity.record<AskedWait>(`${key}/asked`, () => shown);
    const recorded = (await journal.read(`${key}/answer`)) as { readonly value: Json } | undefined;
    const areFactsSame = isSameWait(asked, shown);
    const isFitting = areFactsSame && isSameCall(asked.call, shown.call);
    // If the call has ended, does not request a decision again, even if the facts behind the decision have changed.
    if (!isFitting && !((areFactsSame || recorded !== undefined) && (await hasEnded(activity)))) {
      before = asked;
      if (asked.what === "approval") passDenial(past.shared.answers, toWaitId(id, attempt), toWaitId(id, attempt + 1));
      continue;
    }
    const toolChanges = before && changesSince(before, shown);
    const opened: Wait = { ...shown, schema: asked.schema, id: toWaitId(id, attempt), toolChanges };
    if (recorded !== undefined) {
      activity.isLive = false;
      options.answered?.(opened.id);
      return outputOf(options, recorded.value, (problem) => {
        throw new Error(`The recorded answer to the wait "${opened.id}" no longer fits its schema: ${renderIssues(problem)}`);
      });
    }
    return takeAnswer(past, activity, { key, wait: opened, options });
  }
}

/** True if two waits are the same. The facts of an approval are the call itself. */
function isSameWait(asked: AskedWait, { what, facts, until }: AskedWait): boolean {
  if (asked.what !== what || asked.until !== until) return false;
  if (what !== "approval") return isSameJson(asked.facts, facts);
  return isSameCall(asked.facts as unknown as WaitingSubject, facts as unknown as WaitingSubject);
}

/** True if the arguments and the tool are the same as those that were shown, because the answer applies only to those. */
function isSameCall(was: WaitingSubject | undefined, now: WaitingSubject | undefined): boolean {
  if (now === undefined) return true;
  if (was === undefined || was.name !== now.name || !isSameJson(was.args, now.args)) return false;
  if (was.tool === undefined) return now.tool === undefined;
  return findToolChanges(now.name, was.tool, now.tool).length === 0;
}

/** Returns the output of the wait's schema for an answer. The answer is null if the wait has expired. */
async function outputOf<Answer>(
  { schema, until }: WaitOptions<Answer>,
  value: Json,
  refuse: (issues: readonly Issue[]) => never,
): Promise<Answer> {
  if (schema === undefined || (value === null && until !== undefined)) return value as Answer;
  const checked = await validateArgs(schema, value);
  return "issues" in checked ? refuse(checked.issues) : (checked.value as Answer);
}

interface OpenWait<Answer> {
  readonly key: string;
  readonly wait: Wait;
  readonly options: WaitOptions<Answer>;
}

/** Records this execution's answer, if there is one and it is valid. */
async function takeAnswer<Answer>(
  past: AnsweredRun,
  activity: Activity,
  { key, wait, options }: OpenWait<Answer>,
): Promise<Answer | Parked> {
  past.shared.opened.add(wait.id);
  const given = await findGiven(past, activity, wait);
  if (given === undefined) return new Parked([wait]);
  const output = await outputOf(options, given, (issues) => {
    const problem = `does not fit the schema passed to wait: ${renderIssues(issues)}`;
    const { waitsFor } = toWaitingCall(wait);
    throw past.refuse(new LoopError("invalid-decision", { call: wait.id, waitsFor, problem, issues }));
  });
  await activity.record(`${key}/answer`, () => ({ value: given }));
  options.answered?.(wait.id);
  return output;
}

async function hasEnded({ run, journal, place, call }: Activity): Promise<boolean> {
  return call !== undefined && (await journal.read(`${run.prefix}${place}/outcome`)) !== undefined;
}

/** Returns this execution's answer. If the run is ending or the call has ended, no answer is used. */
async function findGiven(past: AnsweredRun, { run }: Activity, wait: Wait): Promise<Json | undefined> {
  const { id, until = Number.POSITIVE_INFINITY } = wait;
  const given = past.shared.answers.get(id);
  if (run.scope.cause !== undefined || (given !== undefined && isNoAnswer(given))) return undefined;
  const { isSealed: isOver } = past;
  if (given === undefined) return !isOver && run.now >= until ? null : undefined;
  if (isOver) throw past.refuse(new LoopError("unknown-decision", { call: id }));
  const asked = toWaitingCall(wait);
  const problem = id.includes("/") ? await findAnswerProblem(asked, given, resultChecker(run)) : undefined;
  if (problem !== undefined) throw past.refuse(problem);
  return toRecordedAnswer(asked, given);
}
