// Goes on after a recorded ending: a suspended run is resumed, and one that ended badly can be tried again from where it ended.

import type { Ending } from "../../types/termination.ts";
import { whenReady } from "../../utils/promises.ts";
import { applyStep } from "../state/apply-step.ts";
import { type ReopenAnswer, suspensionOf } from "../state/loop-state.ts";
import { mayReopen, parkRun } from "../run/park-run.ts";
import type { Run } from "../run/run.ts";
import { isReplayed, runStep } from "../run/run-step.ts";
import { endingKey, nextKeyAfter, retryKey } from "../state/step-key.ts";

/**
 * Whether a run that is about to end goes on after all. Answers at once where its ending is new: between the last look at the inbox and
 * the end there is no moment in which something could be said and lost.
 */
export function goesOn(run: Run, ending: Ending): boolean | PromiseLike<boolean> {
  return whenReady(isFollowed(run, ending), (goes) => {
    if (!goes) run.control?.shut();
    return goes;
  });
}

function isFollowed(run: Run, ending: Ending): boolean | PromiseLike<boolean> {
  if (ending.status === "suspended") return resumeRun(run);
  return mayReopen(run, ending) ? reopenRun(run, ending) : false;
}

/**
 * Resumes a suspended run where this is another execution than the one that was suspended. Say that one execution was told to drain: it
 * ends as `drained`. The same call over its journal replays up to there, finds that the drain was meant for another execution, and goes
 * on. Under `replayJournal` it goes on where the journal has records of what followed.
 */
function resumeRun(run: Run): boolean | PromiseLike<boolean> {
  const { state, token, journal } = run;
  // A run inside a call was suspended in this execution, or it would have gone on by itself.
  if (suspensionOf(state) !== undefined) return false;
  const resumesPast = journal.replays === undefined ? state.lastInbox?.token !== token : isReplayed(run, nextKeyAfter(state));
  const resume = (): true => {
    applyStep(state, { kind: "resume" });
    return true;
  };
  return whenReady(resumesPast, (goes) => {
    if (goes) return resume();
    // Suspended for good only with the run around this one: whoever ends that one before ends this one.
    return whenReady(parkRun(run, true), (end) => (end === "suspended" ? false : resume()));
  });
}

/**
 * The steps before the ending were replayed from the journal: this call, or one that the journal remembers, may have asked to try again. A
 * recorded retry is followed whatever comes from outside meanwhile: only a new one is not begun in a run that is being ended.
 */
async function reopenRun(run: Run, ending: Ending): Promise<boolean> {
  const { state, options, clock, token, journal, scope } = run;
  const before = endingKey(state, ending);
  for (let attempt = state.retry + 1; ; attempt += 1) {
    // Once this has run, the iteration counts as new: an ending that a limit brings about at once is not reopened again.
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
      applyStep(state, { kind: "reopen", answer, attempt });
      return true;
    }
    // An execution before this one was told to leave it at that.
    if (live) return false;
  }
}
