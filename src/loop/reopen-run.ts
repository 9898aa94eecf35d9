// Goes on behind a recorded ending: a run that ended badly can be tried again from where it ended.

import type { Ending, LoopStatus } from "../contract/termination.ts";
import { applyStep } from "../state/apply-step.ts";
import type { ReopenAnswer } from "../state/loop-state.ts";
import type { Run } from "./run.ts";
import { runStep } from "./run-step.ts";

const reopenable: ReadonlySet<LoopStatus> = new Set(["error", "timeout", "stopped_by_user"]);

/**
 * Whether a run that is about to end as suspended goes on after all: a suspension is obeyed by the execution that was asked for it, and
 * another one over the same journal goes on behind it.
 */
export function resumeRun({ state, token }: Run, { status }: Ending): boolean {
  // A run inside a call was suspended in this execution, or it would have gone on by itself.
  if (status !== "suspended" || state.suspension !== undefined || state.lastInbox?.token === token) return false;
  applyStep(state, { kind: "resume" });
  return true;
}

/**
 * Whether a run that is about to end goes on after all: only where what led to the ending was recalled from the journal, and where
 * this call, or one that the journal remembers, asked for it.
 */
export async function reopenRun(run: Run, status: LoopStatus): Promise<boolean> {
  const { state, options, clock, token } = run;
  if (!run.replayed || !reopenable.has(status)) return false;
  for (let attempt = state.reopens + 1; ; attempt += 1) {
    let isLive = false;
    const body = (): ReopenAnswer => {
      isLive = true;
      // What follows is new: an ending that a limit brings about at once is not gone behind again.
      run.replayed = false;
      return { reopen: options.resume === "retry-last", now: clock.now(), token };
    };
    const answer = await runStep({ key: `p${state.iteration}/reopen/${attempt}`, kind: "reopen", input: null, run: body }, run);
    if (answer.reopen) {
      applyStep(state, { kind: "reopen", answer, attempt });
      return true;
    }
    // An execution before this one was told to leave it at that.
    if (isLive) return false;
  }
}
