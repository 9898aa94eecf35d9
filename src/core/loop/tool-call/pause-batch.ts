// A batch in which nothing can begin any more and something waits: for a decision, for a sequential call before it that waits, or for the
// run inside a call. Mostly its run is suspended, and the batch goes on when that is resumed. If the run was ended, or one of its calls
// failed fatally, what waits never runs. Which of them it is, is looked at again whenever something that waited has come to its end.

import type { Step } from "../../types/journal.ts";
import type { Cancelled } from "../../policies/approval.ts";
import { isCut, parkRun } from "../run/park-run.ts";
import type { AwaitingCall, Run } from "../run/run.ts";
import { runSteps } from "../run/run-step.ts";
import type { Batch } from "./batch.ts";

/** Decides what becomes of what waits. Gives true if it is suspended, and false where the batch goes on. */
export async function pauseBatch(run: Run, batch: Batch): Promise<boolean> {
  const { parking } = run;
  // What the records hold is not decided again.
  if (run.journal.replays === undefined) {
    if (batch.isBarred || isCut(run)) return endWaiting(run, batch);
    if (parking?.mustGoOn === true) {
      await parking.goOnEnded();
      return false;
    }
  }
  const end = await parkRun(run, batch.isDrained);
  if (end === "ended") return endWaiting(run, batch);
  if (end === "look-again") return false;
  await parking?.leave();
  return true;
}

/**
 * Says of what waits that it never runs. Without that the run would end as suspended, and a call that is approved later would run after
 * all. Each is recorded as "cancelled", so that a replay says the same.
 */
async function endWaiting(run: Run, batch: Batch): Promise<false> {
  batch.bar();
  await run.parking?.end();
  const { awaiting } = batch;
  await runSteps(
    awaiting.map(({ entry }) => toStep(entry)),
    run,
    () => {
      for (const { entry, index } of awaiting) batch.drop(index, entry.call);
    },
  );
  return false;
}

function toStep({ call: { callId, name, args }, key }: AwaitingCall): Step<Cancelled> {
  return { key, kind: "approval", input: { callId, name, args }, run: () => ({ kind: "cancelled" }) };
}
