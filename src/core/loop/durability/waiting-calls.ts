// Describes a run's waiting calls for the users who must answer them.

import type { WaitingCall } from "../../types/tool-outcome.ts";
import { isQuestion } from "../../../shared/to-outcome.ts";
import { withoutRepeats } from "../../../shared/wait-ids.ts";
import type { EndReason } from "../../types/termination.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { Ending, Wait } from "../../types/middleware.ts";

type WaitFacts = Partial<Pick<WaitingCall, "name" | "args" | "fromPage" | "question">>;

/** Describes a wait for the caller. The call comes from the wait's facts, or has no details if the facts do not name a call. */
export function toWaitingCall(wait: Wait): WaitingCall {
  const { what, facts, call = {}, schema, until } = wait;
  const isBuiltIn = what === "approval" || what === "result";
  if (isBuiltIn || isQuestion(wait)) {
    const { fromPage, question, ...own } = facts as WaitFacts;
    const more = { ...(fromPage && { fromPage }), ...(question && { question }) };
    return { ...toCall(wait, isBuiltIn ? own : call), waitsFor: what === "approval" ? "approval" : "result", ...more };
  }
  return { ...toCall(wait, call), waitsFor: "answer", what, facts, schema, until, fromPage: wait.fromPage };
}

function toCall(
  { id, toolChanges = [] }: Wait,
  { name = "", args = null }: Pick<WaitFacts, "name" | "args">,
): Omit<WaitingCall, "waitsFor"> {
  const callId = withoutRepeats(id.slice(id.lastIndexOf("/") + 1));
  return { id, callId, name, args, ...(toolChanges.length > 0 && { toolChanges }) };
}

/** Converts an ending's internal reason to the one that users see. */
export function toReason(reason: Ending["reason"]): EndReason {
  if (!("waits" in reason)) return reason;
  const calls = reason.waits.map(toWaitingCall);
  const kind = calls.some(({ waitsFor }) => waitsFor === "approval") ? "approval-required" : "result-required";
  const shown: EndReason = { kind, calls };
  shownWaits.set(shown, reason.waits);
  return shown;
}

const shownWaits = new WeakMap<EndReason, readonly Wait[]>();

/** Returns what a run is waiting for. */
export function waitsOf({ reason }: Pick<LoopResult, "reason">): readonly Wait[] {
  return shownWaits.get(reason) ?? [];
}
