// Decisions about calls inside other calls, in a run that goes on: each has to name a call that waits, and that is found out before anything
// runs. So the runs inside those calls go on first, as far as their records go, and wait there until all of them have come so far.

import { failureOf } from "../run/failure-of.ts";
import { parkRun } from "../run/park-run.ts";
import type { Run } from "../run/run.ts";
import type { Batch, Entry } from "./batch.ts";

/** Whether a batch has to see first whether its decisions name calls that wait. A journal that knows steps by their order has one order. */
export function mustPlace({ decisions, journal, scope }: Run): boolean {
  return !decisions.isEmpty && decisions.mayPlace && journal.ordered !== true && scope.cause === undefined;
}

/** Begins the calls that decisions name from within, and has them wait. Throws LoopError "unknown-decision". */
export async function placeDecisions(
  run: Run,
  batch: Batch,
  begin: (wave: readonly Entry[]) => void | PromiseLike<void>,
): Promise<void> {
  const { decisions, park } = run;
  const isNamed = ({ callId }: { readonly callId: string }): boolean => decisions.isLeftInside(callId);
  const begun: Entry[] = [];
  decisions.startPlacing();
  // A call may have been asked about again before it began.
  for (let named = batch.takeAgents(isNamed); named.length > 0; named = batch.takeAgents(isNamed)) {
    begun.push(...named);
    await begin(named);
  }
  decisions.endPlacing();
  const isOpen = park === undefined ? begun.length > 0 : batch.hasWaiting || decisions.hasTaken || !decisions.isLeftInside();
  // One that does not stand where its calls wait goes on, and takes them later or is refused before it does something new.
  if (!isOpen) return batch.takeBack(begun);
  decisions.setPlaced();
  if (park !== undefined) await waitForOthers(run);
  else if (run.scope.cause === undefined) decisions.refuseLeft([]);
  batch.takeBack(begun);
}

async function waitForOthers(run: Run): Promise<void> {
  await parkRun(run, false);
  const failure = failureOf(run);
  if (failure !== undefined) throw failure.error;
}
