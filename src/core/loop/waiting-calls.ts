// Describes a run's waiting calls for the users who must answer them.

import type { ShownTool, WaitingCall } from "../types/tool-outcome.ts";
import { isQuestion } from "../../shared/to-outcome.ts";
import { findToolChanges } from "../tools/registry.ts";
import type { EndReason } from "../types/termination.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Ending, Wait } from "../types/middleware.ts";

interface WaitFacts extends Partial<Pick<WaitingCall, "name" | "args" | "fromPage" | "question">> {
  readonly tool?: ShownTool | undefined;
}

/** Describes a wait for the caller. The call comes from the wait's facts, or has no details if the facts do not name a call. */
export function toWaitingCall(wait: Wait): WaitingCall {
  const { what, facts, earlier, call = {}, earlierTool, schema, until } = wait;
  const isBuiltIn = what === "approval" || what === "result";
  if (isBuiltIn || isQuestion(wait)) {
    const { fromPage, question, ...own } = facts as WaitFacts;
    const shown = isBuiltIn ? toCall(wait, own, (earlier as WaitFacts | undefined)?.tool) : toCall(wait, call, earlierTool);
    const more = { ...(fromPage && { fromPage }), ...(question && { question }) };
    return { ...shown, waitsFor: what === "approval" ? "approval" : "result", ...more };
  }
  return { ...toCall(wait, call, earlierTool), waitsFor: "answer", what, facts, schema, until, fromPage: wait.fromPage };
}

type Shown = Pick<WaitFacts, "name" | "args" | "tool">;

function toCall({ id }: Wait, shown: Shown, was: ShownTool | undefined): Omit<WaitingCall, "waitsFor"> {
  const { name = "", args = null, tool } = shown;
  const toolChanges = was === undefined ? [] : findToolChanges(name, was, tool);
  const callId = id.slice(id.lastIndexOf("/") + 1).replace(/[#~]\d+$/, "");
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

/** Returns this run's calls that are waiting. The ids of calls in nested runs are paths. */
export function pendingOf(reason: EndReason): readonly WaitingCall[] {
  return "calls" in reason ? reason.calls.filter(({ id }) => !id.includes("/")) : [];
}

const shownWaits = new WeakMap<EndReason, readonly Wait[]>();

/** Returns what a run is waiting for. */
export function waitsOf({ reason }: Pick<LoopResult, "reason">): readonly Wait[] {
  return shownWaits.get(reason) ?? [];
}
