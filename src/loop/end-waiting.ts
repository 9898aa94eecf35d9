// Calls that cannot go on when all others of their batch are over: they wait for a decision, or behind one that does, or the run inside
// them is suspended. Their run is suspended with them; where it is over instead, they never run.

import type { Step } from "../contract/journal.ts";
import type { Cancelled } from "../policies/approval.ts";
import { isFatal } from "../tools/render-outcome.ts";
import type { AwaitingCall, BatchEntry } from "./batch-entry.ts";
import { type Batch, barHeld } from "./dispatch-waves.ts";
import { isEnded } from "./parking.ts";
import { refuse } from "./recall-call.ts";
import type { Dispatched, Run } from "./run.ts";
import { runSteps } from "./run-step.ts";

/** Whether anything of a batch has to wait. */
export function waits({ dispatched }: Batch): boolean {
  return dispatched.some(({ awaiting, suspended }) => awaiting === true || suspended !== undefined);
}

/**
 * Ends what waits of a batch where the run was ended from outside or by a fatal failure while the others ran: else it would be suspended
 * instead, and what somebody decides later would run after all. Recorded, so that a replay says so.
 */
export async function endWaiting(run: Run, entries: readonly BatchEntry[], batch: Batch): Promise<readonly Dispatched[]> {
  const { dispatched } = batch;
  const { parking } = run;
  // A run inside a call waits as its calls do.
  if (run.park !== undefined) await run.park(run.scope, dispatched.some(isDrained));
  const isLast = run.journal.replays === undefined && (isEnded(run.scope) || dispatched.some(({ outcome }) => isFatal(outcome)));
  run.parking = undefined;
  await parking?.leave(isLast);
  if (isLast) {
    await dropAwaiting(run, entries, dispatched);
    await barHeld(run, batch);
  }
  return dispatched;
}

function isDrained({ suspended }: Dispatched): boolean {
  return suspended?.reason.kind === "drained";
}

async function dropAwaiting(run: Run, entries: readonly BatchEntry[], dispatched: Dispatched[]): Promise<void> {
  const awaiting = entries.flatMap((entry, index) => (entry.kind === "awaiting" ? [{ entry, index }] : []));
  const steps = awaiting.map(({ entry }) => toStep(entry));
  await runSteps(steps, run, () => {
    for (const { entry, index } of awaiting)
      dispatched[index] = refuse(run, { call: entry.call, durationMs: 0, kind: "not-run" }, true);
  });
}

function toStep({ call: { callId, name, args }, key }: AwaitingCall): Step<Cancelled> {
  return { key, kind: "approval", input: { callId, name, args }, run: () => ({ kind: "cancelled" }) };
}
