// Calls that do not run in this execution: one whose outcome was replayed is told and counted as if it had happened, and one that was
// refused is told with the reason.

import type { NestedSpending, ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { wasDispatched } from "../../tools/render-outcome.ts";
import type { Spending } from "../run/meter.ts";
import type { Dispatched, Run } from "../run/run.ts";
import { sendToolEnd, sendToolStart } from "./tool-events.ts";

/** Throws LoopError "journal-mismatch" for an outcome that is recorded in a call's place and names another call. */
export function checkRecorded({ callId, name }: ToolCall, { call }: ToolOutcome): void {
  if (call.callId === callId && call.name === name) return;
  throw new LoopError("journal-mismatch", {
    field: "call",
    expected: `${callId} ${name}`,
    received: `${call.callId} ${call.name}`,
  });
}

/** Tells listeners of a call that is over, and counts it where it has run. */
export function replayCall(run: Run, outcome: ToolOutcome): void {
  sendBoth(run, outcome, false);
  if (wasDispatched(outcome.kind)) run.meter.add({ toolCalls: 1 });
  if (outcome.nested !== undefined) run.meter.add(toSpending(outcome.nested));
}

/** Tells of a call that does not run, and why. */
export function refuse(run: Run, outcome: ToolOutcome, live: boolean): Dispatched {
  sendBoth(run, outcome, live);
  return { outcome, live };
}

/** Tells listeners of a call that began and ended at once. */
export function sendBoth(run: Run, outcome: ToolOutcome, live: boolean): void {
  sendToolStart(run, outcome.call, live);
  sendToolEnd(run, outcome, live);
}

/** What the meter counts of a call's nested runs. */
export function toSpending({ usage, costUSD, knownCostUSD, toolCallsExecuted }: NestedSpending): Spending {
  const known = costUSD ?? knownCostUSD;
  return { tokens: usage.totalTokens, toolCalls: toolCallsExecuted, costUSD: known, costUnknown: costUSD === undefined };
}
