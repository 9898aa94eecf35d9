// Calls that wait for a decision when their run is over: nobody is asked any more, and they never run.

import type { Step } from "../contract/journal.ts";
import { whenReady } from "../kit/when-ready.ts";
import type { Decided } from "../policies/approval.ts";
import type { AwaitingCall, BatchEntry } from "./batch-entry.ts";
import { refuse } from "./dispatch-waves.ts";
import type { Dispatched, Run } from "./run.ts";
import { runSteps } from "./run-step.ts";

/**
 * Takes out of a batch what waits, where the run was ended from outside or by a fatal failure while the others ran: else it would be
 * suspended instead of ended, and what somebody decides later would run after all. Recorded as the decision, so that a replay says so.
 */
export function dropAwaiting(
  run: Run,
  entries: readonly BatchEntry[],
  dispatched: readonly Dispatched[],
): readonly Dispatched[] | PromiseLike<readonly Dispatched[]> {
  if (run.journal.replays !== undefined || !(isEnded(run) || dispatched.some(isFatal))) return dispatched;
  const awaiting = entries.flatMap((entry, index) => (entry.kind === "awaiting" ? [{ entry, index }] : []));
  if (awaiting.length === 0) return dispatched;
  const steps = awaiting.map(({ entry }) => toStep(entry));
  return whenReady(runSteps(steps, run), () => {
    const ends = [...dispatched];
    for (const { entry, index } of awaiting)
      ends[index] = refuse(run, { call: entry.call, durationMs: 0, kind: "not-run" }, false);
    return ends;
  });
}

/** The wall clock ends nothing here: it is about what runs, and nothing does while somebody thinks. */
function isEnded({ scope: { cause } }: Run): boolean {
  return cause?.kind === "stop" || cause?.kind === "kill" || cause?.kind === "abort";
}

function isFatal({ outcome }: Dispatched): boolean {
  return outcome.kind === "failed" && outcome.fatal === true;
}

function toStep({ call: { callId, name, args }, key }: AwaitingCall): Step<Decided> {
  return { key, kind: "approval", input: { callId, name, args }, run: () => ({ kind: "cancelled" }) };
}
