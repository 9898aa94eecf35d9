// Runs calls while their message is still streaming, for middleware with a `stream` hook.

import type { Journal } from "../types/journal.ts";
import type { ToolCall } from "../types/tool-outcome.ts";
import type { BegunCall, StreamPlace } from "../types/middleware.ts";
import { insideKey } from "../tools/inside-call.ts";
import { Activity } from "./activity.ts";
import { callPlace } from "./journals.ts";
import { none } from "./limits.ts";
import { performCall, sendEnd, sendStart } from "./perform-call.ts";
import { prepareCall } from "./execute-tool-call.ts";
import type { Run } from "./run.ts";

/**
 * Runs a call now, through all middleware. `journalAt` returns the journal for its steps, whose keys begin with `place`. `outer` is the
 * journal of the run: it must not receive steps before the answer is recorded. Resolves to undefined if the call may not begin yet.
 */
export async function beginCall(
  at: StreamPlace,
  call: ToolCall,
  journalAt: (place: string, outer: Journal) => Journal,
): Promise<BegunCall | undefined> {
  const run = runOf(at);
  if (!at.isRecorded) {
    // Calls do not begin early if `maxToolCalls` is set, because a later call must not use up the quota left for an earlier one.
    if (run.meter.toolCallsLeft !== none) return undefined;
    const ready = await prepareCall(call, run);
    if (ready.kind !== "ready" || run.scope.cause !== undefined) return undefined;
  }
  const index = run.places.get(call.callId) ?? -1;
  const place = callPlace(run.state, index, call.name);
  const journal = journalAt(run.prefix + place, run.journal);
  const activity = new Activity(run, { place, path: call.callId, journal, call, index, isEarly: true });
  activity.takeTurn = () => {
    run.control?.startToolChain();
    return undefined;
  };
  const end = await activity.settle(performCall(activity, call));
  return { call, outcome: "value" in end ? end.value : undefined, journal, spent: activity.spent };
}

/**
 * Uses a result from `beginCall` for a call in the message. If the result came from a different but equal call, sends the events for this
 * call.
 */
export function useCall(at: StreamPlace, call: ToolCall, begun: BegunCall): void {
  const run = runOf(at);
  run.begun.set(call.callId, begun);
  const { outcome } = begun;
  if (at.isRecorded || outcome === undefined || begun.call.callId === call.callId) return;
  sendStart(run, call, false);
  sendEnd(run, { ...outcome, call }, false);
}

/** The place of a message, which holds its run under a hidden key. */
export interface PlaceInRun extends StreamPlace {
  readonly [insideKey]: { readonly run: Run };
}

function runOf(at: StreamPlace): Run {
  return (at as PlaceInRun)[insideKey].run;
}
