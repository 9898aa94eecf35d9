// Calls that still wait when all others of their batch are over: for a decision, for a sequential call before them that waits, or for the
// run inside them that is suspended. Mostly their run is suspended, and they go on when it is resumed. Where it was ended instead, by a
// stop or by a fatal failure of another call, they never run.

import type { Step } from "../../contract/journal.ts";
import type { Cancelled } from "../../policies/approval.ts";
import { isFatal } from "../../tools/render-outcome.ts";
import { type Batch, barHeld } from "./dispatch-waves.ts";
import { isEnded } from "../run/parking.ts";
import { refuse } from "../call/replay-call.ts";
import type { AwaitingCall, Dispatched, Run } from "../run/run.ts";
import { runSteps } from "../run/run-step.ts";

/** Whether anything of a batch has to wait. */
export function waits({ dispatched }: Batch): boolean {
  return dispatched.some(({ awaiting, suspended }) => awaiting !== undefined || suspended !== undefined);
}

/**
 * Says of the waiting calls of a batch that they never run, where the run was stopped, killed or aborted while the others ran, or one of
 * those failed fatally. Without that the run would end as suspended, and a call that is approved later would run after all. Each is
 * recorded as "cancelled", so that a replay says the same. A run that was told to end before it did anything new leaves its records as they
 * were: what waits goes on waiting, and the next execution takes the decisions.
 */
export async function endWaiting(run: Run, batch: Batch): Promise<readonly Dispatched[]> {
  const { dispatched } = batch;
  const { parking } = run;
  // A run inside a call waits as its calls do.
  if (run.park !== undefined) await run.park(run.scope, dispatched.some(isDrained));
  const isCut = isEnded(run.scope) && !run.replayed;
  const isLast = run.journal.replays === undefined && (isCut || dispatched.some(({ outcome }) => isFatal(outcome)));
  // The run is suspended: nothing looks at its control any more.
  if (!isLast) run.control?.shut();
  run.parking = undefined;
  await parking?.leave(isLast);
  if (isLast) {
    await dropAwaiting(run, dispatched);
    await barHeld(run, batch);
  }
  return dispatched;
}

function isDrained({ suspended }: Dispatched): boolean {
  return suspended?.reason.kind === "drained";
}

async function dropAwaiting(run: Run, dispatched: Dispatched[]): Promise<void> {
  const awaiting = dispatched.flatMap(({ awaiting: entry }, index) => (entry === undefined ? [] : [{ entry, index }]));
  const steps = awaiting.map(({ entry }) => toStep(entry));
  await runSteps(steps, run, () => {
    for (const { entry, index } of awaiting)
      dispatched[index] = refuse(run, { call: entry.call, durationMs: 0, kind: "not-run" }, true);
  });
}

function toStep({ call: { callId, name, args }, key }: AwaitingCall): Step<Cancelled> {
  return { key, kind: "approval", input: { callId, name, args }, run: () => ({ kind: "cancelled" }) };
}
