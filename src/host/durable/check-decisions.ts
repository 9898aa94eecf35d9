// Checks decisions and results before sending them to waiting calls.

import { type CallDecision, type Json, LoopError, type LoopOptions } from "../../core/index.ts";
import { findAnswerProblem } from "../../shared/answer-problem.ts";
import { isOutsideResult } from "../../shared/to-outcome.ts";
import { toJson } from "../../shared/json.ts";
import { waitingCallsOf } from "../../shared/wait-ids.ts";
import { toRegistry, type WaitingCall } from "../../core/kit.ts";
import { toCallPath } from "../../web/page-values.ts";
import type { JournalInspection } from "../../journal/index.ts";
import type { RunMessage } from "./durable-store.ts";

type Given = CallDecision | Json;
type SeenRun = Pick<JournalInspection, "pendingCalls" | "reason">;

interface PendingRun extends SeenRun {
  readonly tools?: LoopOptions["tools"] | undefined;
}

/** A call that is waiting for an answer from outside, or middleware that is waiting during a model request or at the end of a run. */
type Waiting = Pick<WaitingCall, "id" | "callId" | "name" | "waitsFor" | "fromPage" | "question" | "schema" | "until">;

const waitsFor: { readonly [state: string]: Waiting["waitsFor"] | undefined } = {
  "awaiting-approval": "approval",
  "awaiting-result": "result",
  "awaiting-answer": "answer",
};

/**
 * Returns everything that is waiting for an answer. Middleware is listed only in the `reason`, which is undefined while other calls are
 * still running.
 */
export function findWaiting({ pendingCalls, reason }: SeenRun): readonly Waiting[] {
  const calls = pendingCalls.flatMap((call): readonly Waiting[] => {
    const answer = waitsFor[call.state];
    return answer === undefined ? [] : [{ ...call, waitsFor: answer }];
  });
  const ids = new Set(calls.map(({ id }) => id));
  const others = waitingCallsOf(reason).filter(({ id }) => !ids.has(id));
  return [...calls, ...others];
}

/** Returns the message that delivers a decision to its call, or undefined if no call is waiting for it. */
export async function toDecided({ tools, ...run }: PendingRun, callId: string, decision: Given): Promise<RunMessage | undefined> {
  // Accepts an id without its suffix, such as `#2`, because the tool that asked for the result does not know the suffix.
  const isMeant = (one: Waiting): boolean =>
    one.id === callId || (one.waitsFor === "result" && one.question === undefined && toCallPath(one) === callId);
  const call = findWaiting(run).find(isMeant);
  if (call === undefined) {
    const isAnswer = isLiveQuestion(callId) && isOutsideResult(decision);
    return isAnswer ? { verb: "answer", id: callId, answer: toJson(decision) } : undefined;
  }
  const problem = await findAnswerProblem(call, decision as Json, async (name, result) => {
    // Lets the run check the results of nested calls, because only the run knows the nested run's tools.
    const checked = call.id.includes("/")
      ? undefined
      : await toRegistry(tools ?? [], "tools").validateResult?.(name, toJson(result));
    return checked !== undefined && "issues" in checked ? checked.issues : undefined;
  });
  if (problem !== undefined) throw problem;
  return { verb: "answer", id: call.id, answer: toJson(decision) };
}

export function unknownDecision(run: SeenRun | undefined, call: string): LoopError {
  const waiting = run === undefined ? [] : findWaiting(run).map(({ id }) => id);
  return new LoopError("unknown-decision", { call, ...(waiting.length === 0 ? {} : { waiting }) });
}

/** True for an id from a `question-asked` event. Such a question is waiting in the run's own process. */
function isLiveQuestion(id: string): boolean {
  return /#\w{8}-\d+$/.test(id);
}
