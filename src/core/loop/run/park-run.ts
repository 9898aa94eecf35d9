// Parks runs inside calls until they may go on.

import { refuseBroken } from "./journal-call.ts";
import { isEnded } from "../../cancellation/cancel-scope.ts";
import type { ParkedEnd } from "./parking.ts";
import type { Run } from "./run.ts";
import type { Ending, LoopStatus } from "../../types/termination.ts";

/** Parks a run, where it is inside a call; any other one is suspended at once. */
export function parkRun(run: Run, isDrained: boolean): Promise<ParkedEnd> | ParkedEnd {
  const suspend = (): void => {
    run.control?.shut();
    run.parking?.suspend();
  };
  if (run.park !== undefined) return run.park({ scope: run.scope, isDrained, mustEnd: () => mustEnd(run), suspend });
  suspend();
  return "suspended";
}

/**
 * Has a run wait that was begun to replay what is recorded: what it does next counts against limits that it shares with the calls beside
 * it, and so does what these have done before. Undefined for a run that need not wait.
 */
export function waitForTurn(run: Run): Promise<void> | undefined {
  if (!run.awaitsTurn) return undefined;
  run.turn ??= takeTurn(run);
  return run.turn;
}

async function takeTurn(run: Run): Promise<void> {
  await parkRun(run, false);
  run.awaitsTurn = false;
  refuseBroken(run);
}

/** Whether a run ends although something of it waits, or one that is parked in it does. */
function mustEnd(run: Run): boolean {
  return run.journal.replays === undefined && (isCut(run) || run.parking?.mustGoOn === true);
}

/**
 * Whether somebody has ended a run that has done something new. One that was told to end before that leaves its records as they were: what
 * waits goes on waiting, and the next execution takes the decisions.
 */
export function isCut(run: Run): boolean {
  return isEnded(run.scope) && hasWorked(run);
}

/** A run, and those around it whose steps are in the same journal. */
type Part = Pick<Run, "replayed" | "isPart"> & { readonly outer: Part | undefined };

/** Notes that a run does something new. Then the runs around it do, for it is part of what their iterations do. */
export function noteWork(run: Part): void {
  for (let one: Part | undefined = run; one !== undefined; one = outerOf(one)) one.replayed = false;
}

function hasWorked(run: Part): boolean {
  for (let one: Part | undefined = run; one !== undefined; one = outerOf(one)) if (!one.replayed) return true;
  return false;
}

function outerOf({ isPart, outer }: Part): Part | undefined {
  return isPart ? outer : undefined;
}

const reopenable: ReadonlySet<LoopStatus> = new Set(["error", "timeout", "stopped-by-user"]);

/** Whether a retry may follow an ending: one that is recorded, or one that this call asks for. What led to the ending was replayed. */
export function mayReopen(run: Pick<Run, "replayed" | "isPart">, { status }: Ending): boolean {
  return run.replayed && !run.isPart && reopenable.has(status);
}
