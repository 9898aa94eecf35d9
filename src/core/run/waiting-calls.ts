// Describes the calls that wait, for users.

import type { ShownTool, WaitingCall } from "../types/tool-outcome.ts";
import { findToolChanges } from "../tools/registry.ts";
import type { EndReason } from "../types/termination.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { Ending, Wait } from "../types/middleware.ts";

interface WaitFacts extends Partial<Pick<WaitingCall, "name" | "args" | "fromPage" | "question">> {
  readonly tool?: ShownTool;
}

export function toWaitingCall({ id, what, facts, earlier }: Wait): WaitingCall {
  const { name = "", args = null, fromPage, tool, question } = facts as WaitFacts;
  const was = (earlier as WaitFacts | undefined)?.tool;
  const toolChanges = was === undefined ? [] : findToolChanges(name, was, tool);
  const callId =
    id
      .split("/")
      .at(-1)
      ?.replace(/[#~]\d+$/, "") ?? id;
  return {
    id,
    callId,
    name,
    args,
    waitsFor: what === "approval" ? "approval" : "result",
    ...(fromPage && { fromPage }),
    ...(question && { question }),
    ...(toolChanges.length > 0 && { toolChanges }),
  };
}

/** Returns the reason that users see. */
export function toReason(reason: Ending["reason"]): EndReason {
  if (!("waits" in reason)) return reason;
  const calls = reason.waits.map(toWaitingCall);
  const kind = calls.some(({ waitsFor }) => waitsFor === "approval") ? "approval-required" : "result-required";
  const shown: EndReason = { kind, calls };
  shownWaits.set(shown, reason.waits);
  return shown;
}

/** Returns the calls of this run that wait. Calls of nested runs have paths as ids. */
export function pendingOf(reason: EndReason): readonly WaitingCall[] {
  return "calls" in reason ? reason.calls.filter(({ id }) => !id.includes("/")) : [];
}

const shownWaits = new WeakMap<EndReason, readonly Wait[]>();

/** Returns what a run waits for. */
export function waitsOf({ reason }: Pick<LoopResult, "reason">): readonly Wait[] {
  return shownWaits.get(reason) ?? [];
}
