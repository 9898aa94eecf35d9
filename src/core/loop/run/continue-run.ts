// Decides whether a run that is about to end goes on: after a suspension, or with a retry after a recorded ending.

import { endingOfReason, isEnded } from "../../cancellation/cancel-scope.ts";
import type { Ending, LoopStatus } from "../../types/termination.ts";
import { whenReady } from "../../utils/promises.ts";
import { applyStep } from "../state/apply-step.ts";
import { suspensionOf } from "../state/loop-state.ts";
import { endingKey, nextKeyAfter, retryKey } from "../state/step-key.ts";
import type { ReopenAnswer } from "../state/step-result.ts";
import { eventBase, type Run } from "./run.ts";
import { hasWorked, isReplayed, parkRun, runStep } from "./run-step.ts";

/**
 * Decides whether a run that is about to end continues, and returns true if so. The run continues after a suspension in an
 * earlier execution, or with a retry of the failed iteration. In all other cases, shuts the control and returns false. If the
 * ending is not recorded yet, returns false synchronously, so that no message can arrive between the final reading of the inbox
 * and the end.
 */
export function continueAfter(run: Run, ending: Ending): boolean | PromiseLike<boolean> {
  const continued = ending.status === "suspended" ? resumeRun(run) : mayReopen(run, ending) && reopenRun(run, ending);
  return whenReady(continued, (isContinued) => {
    if (!isContinued) run.control?.shut();
    return isContinued;
  });
}

/**
 * Continues a run that an earlier execution suspended, for example with `drain`. The inbox record contains the token of the
 * execution that suspended the run. If that execution is not the current one, the run continues. With `replayJournal`, the run
 * continues only if the journal contains the step after the suspension.
 */
function resumeRun(run: Run): boolean | PromiseLike<boolean> {
  const { state, token, journal } = run;
  // The run stays suspended if calls still wait, or if this execution suspended a nested run.
  if (suspensionOf(state) !== undefined) return false;
  const wasResumed = journal.replays === undefined ? state.lastInbox?.token !== token : isReplayed(run, nextKeyAfter(state));
  const resume = (): true => {
    applyStep(state, { kind: "resume" });
    return true;
  };
  return whenReady(wasResumed, (isResumed) => {
    if (isResumed) return resume();
    // A nested run stays suspended only if its outer run is suspended too. If the outer run ends, it cancels the nested run. The
    // nested run then continues, and ends as cancelled.
    return whenReady(parkRun(run, true), (end) => (end === "suspended" ? false : resume()));
  });
}

/**
 * Continues a run after a recorded ending, if `resume: "retry-last"` is set, or if an earlier execution recorded a retry. A
 * recorded retry is always replayed. No new retry begins while the run is being cancelled.
 */
async function reopenRun(run: Run, ending: Ending): Promise<boolean> {
  const { state, options, clock, token, journal, scope } = run;
  const before = endingKey(state, ending);
  for (let attempt = state.retry + 1; ; attempt += 1) {
    // This step marks the iteration as not replayed. An ending that follows immediately, for example at a limit, is therefore not
    // retried.
    const body = (): ReopenAnswer => {
      const reopen = options.resume === "retry-last" && scope.cause === undefined;
      if (!reopen) run.control?.shut();
      return { reopen, before, now: clock.now(), token };
    };
    const key = retryKey(attempt);
    if (journal.replays !== undefined && !(await isReplayed(run, key))) return false;
    const step = { key, kind: "reopen" as const, input: null, run: body };
    const { answer, live } = await runStep(step, run, (given, isLive) => ({ answer: given, live: isLive }));
    if (answer.before !== before) continue;
    if (answer.reopen) {
      const { length } = state.messages;
      applyStep(state, { kind: "reopen", answer, attempt });
      if (state.messages.length < length) run.events.send({ type: "attempt-discarded", ...eventBase(run, live) });
      return true;
    }
    // A replayed answer without a retry was recorded by an execution without "retry-last". The loop then tries the next key.
    if (live) return false;
  }
}

const reopenable: ReadonlySet<LoopStatus> = new Set(["error", "timeout", "stopped-by-user"]);

/**
 * True if a recorded ending may be followed by a retry, because everything before the ending was replayed. The retry is either in
 * the journal, or requested by `resume: "retry-last"`.
 */
export function mayReopen(run: Pick<Run, "isIterationReplayed" | "sharesJournal">, { status }: Ending): boolean {
  return run.isIterationReplayed && !run.sharesJournal && reopenable.has(status);
}

/**
 * Returns the ending that the caller gets. If a run with waiting calls was cancelled before this execution did anything, the
 * caller gets the ending of a cancelled run. The journal still records the calls as waiting, so a later execution can use
 * decisions about these calls. A cancellation after the run was suspended comes too late.
 */
export function toFinalEnding(run: Run, ending: Ending): Ending {
  const { scope, decisions, journal, sharesJournal } = run;
  const { cause } = scope;
  if (cause === undefined || !("calls" in ending.reason) || sharesJournal || journal.replays !== undefined) return ending;
  if (hasWorked(run)) return ending;
  return isEnded(scope) || !decisions.isEmpty ? endingOfReason(cause) : ending;
}
