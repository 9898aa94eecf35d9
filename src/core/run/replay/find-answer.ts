// Finds the answer to a wait, in the journal or in the answers of this execution.

import type { Json } from "../../types/common.ts";
import type { Wait } from "../../types/middleware.ts";
import type { WaitOptions } from "../../types/wait.ts";
import { LoopError } from "../../../shared/errors/loop-error.ts";
import { stableJson } from "../../../shared/json.ts";
import { validateArgs } from "../../../shared/argument-schema.ts";
import { renderIssues } from "../../../shared/to-outcome.ts";
import { type Activity, Parked } from "../activity.ts";
import type { AskedWait } from "../journals.ts";
import type { OpenedWait } from "../past-calls.ts";
import { waitKey } from "../places.ts";
import { type Answers, findAnswerProblem, isNoAnswer, toWaitId, withoutSource } from "./answers.ts";

/** The run whose waits get their answers. */
export interface AnsweredRun {
  readonly shared: {
    readonly answers: Answers;
    /** The ids of the waits that have no answer yet. */
    readonly opened: Set<string>;
  };
  /** True if the run has ended while the call waited, or the limit was reached. Nothing waits for an answer any more. */
  isClosed(callId: string | undefined): boolean;
  refuse(cause: LoopError): Error;
}

interface Asking {
  readonly wait: OpenedWait;
  readonly options: WaitOptions;
}

/** Reads the answer to a wait, or takes it from the option `answers`. Opens the wait again if what was shown has changed. */
export async function findAnswer(past: AnsweredRun, activity: Activity, asking: Asking): Promise<Json | Parked> {
  const { journal } = activity;
  const { wait, options } = asking;
  const { id, ...shown } = wait;
  let earlier: Json | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const key = waitKey(id, attempt);
    const asked = await activity.record<AskedWait>(`${key}/asked`, () => shown);
    const recorded = (await journal.read(`${key}/answer`)) as { readonly value: Json } | undefined;
    const isFitting = stableJson(asked) === stableJson(shown) || options.isSame?.(asked.facts) === true;
    // Nobody is asked again about a call that has ended, whatever has changed since.
    if (!isFitting && (recorded === undefined || !(await hasEnded(activity)))) {
      earlier = asked.facts;
      continue;
    }
    const opened: Wait = { ...shown, id: toWaitId({ id, attempt }), ...(earlier !== undefined && { earlier }) };
    if (recorded !== undefined) {
      activity.isLive = false;
      options.answered?.(opened.id);
      return recorded.value;
    }
    return takeAnswer(past, activity, { key, wait: opened, options });
  }
}

interface OpenWait {
  readonly key: string;
  readonly wait: Wait;
  readonly options: WaitOptions;
}

/** Records the answer of this execution, if it has one that fits. */
async function takeAnswer(past: AnsweredRun, activity: Activity, { key, wait, options }: OpenWait): Promise<Json | Parked> {
  const { schema, answered } = options;
  past.shared.opened.add(wait.id);
  const given = await findGiven(past, activity, wait);
  if (given === undefined) return new Parked([wait]);
  const checked = schema === undefined || given === null ? { value: given } : await validateArgs(schema, given);
  if ("issues" in checked) return new Parked([{ ...wait, problem: renderIssues(checked.issues) }]);
  const { value } = await activity.record<{ readonly value: Json }>(`${key}/answer`, () => ({ value: given }));
  answered?.(wait.id);
  return value;
}

async function hasEnded({ run, journal, place, call }: Activity): Promise<boolean> {
  return call !== undefined && (await journal.read(`${run.prefix}${place}/outcome`)) !== undefined;
}

/** Returns the answer of this execution. A run that is being ended takes none, and neither do calls that have ended. */
async function findGiven(past: AnsweredRun, { run, call }: Activity, wait: Wait): Promise<Json | undefined> {
  const { id, until = Number.POSITIVE_INFINITY } = wait;
  const given = past.shared.answers.get(id);
  if (run.scope.cause !== undefined || (given !== undefined && isNoAnswer(given))) return undefined;
  const isOver = past.isClosed(call?.callId);
  if (given === undefined) return !isOver && run.now >= until ? null : undefined;
  if (isOver) throw past.refuse(new LoopError("unknown-decision", { call: id }));
  const problem = id.includes("/") ? await findAnswerProblem(run, wait, given) : undefined;
  if (problem !== undefined) throw past.refuse(problem);
  return withoutSource(given);
}
