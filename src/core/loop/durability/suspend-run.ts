// Suspends a run that is waiting, and decides whether an ended run goes on in this execution.

import type { Ending } from "../../types/middleware.ts";
import type { AskedEnd, NewEnd } from "../past.ts";
import type { Run } from "../run.ts";
import { shut, takeLook } from "../run-tool-loop.ts";

/**
 * Suspends a run whose calls are waiting, or whose nested run was drained. Nothing is recorded, because a later execution needs only the
 * records so far. If the run was stopped while its calls were waiting (`hasEnded`), the stop is recorded, so that the calls never run. A
 * run that was stopped before this execution began, or before it used its answers, stays suspended.
 */
export async function suspend(run: Run, ending: Ending, hasEnded: boolean): Promise<Ending | undefined> {
  const { past } = run;
  const isCut = (hasEnded && past?.isUndone !== true) || past?.isSettled === true || (await hold(run));
  return isCut ? takeLook(run, { planned: ending }) : (past?.endUndone(ending) ?? ending);
}

/** Ends a run, unless this execution goes on where an earlier one ended. */
export async function end(run: Run, ending: Ending): Promise<Ending | undefined> {
  const { state, past, planned } = run;
  if ("waits" in ending.reason) return past?.endUndone(ending) ?? ending;
  if (state.look?.token === run.token) {
    shut(run, ending);
    // A suspended nested run first waits until nothing else can continue.
    if (ending.status !== "suspended" || !(await hold(run))) return ending;
  }
  // Without a `past`, this point is reached only if a nested run was drained and then ended. The run continues with its next look.
  const goOn = past === undefined ? { planned } : await past.findContinuation(ending);
  if (goOn === undefined) return ending;
  const { base, count } = state.lookAttempt;
  state.lookAttempt = { base, count: count + 1 };
  return takeLook(run, goOn);
}

/** Holds a waiting nested run. Returns true if the run was ended while it was held. */
async function hold(run: Run): Promise<boolean> {
  return run.nesting !== undefined && run.nesting.hold(run);
}

export async function recordAsked(run: Run, key: string, end: NewEnd): Promise<AskedEnd> {
  const { record, isChanged } = end;
  return run.past?.recordAsked(key, end) ?? (isChanged ? run.step<AskedEnd>(key, () => record) : record);
}
