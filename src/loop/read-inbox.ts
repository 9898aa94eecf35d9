// Reads what has come from outside since the last look, as a step: what the loop judges is the recorded answer.

import type { Step } from "../contract/journal.ts";
import type { Ending } from "../contract/termination.ts";
import { assertNever } from "../kit/assert-never.ts";
import type { Cause } from "../kit/run-scope.ts";
import { applyStep } from "../state/apply-step.ts";
import { toAbortReason } from "../state/ending-of-cause.ts";
import type { InboxAnswer } from "../state/loop-state.ts";
import type { Run } from "./run.ts";
import { runStep } from "./run-step.ts";

/** Reads the inbox: a new pass begins. */
export function readInbox(run: Run): Promise<void> | undefined {
  const { state } = run;
  const iteration = state.phase === "start" ? 0 : state.iteration + 1;
  return runStep(inboxStep(`p${iteration}/inbox`, run), run, (answer) => applyStep(state, { kind: "inbox", answer }));
}

/** Reads the inbox a last time before an ending. */
export function readLastInbox(run: Run, ending: Ending): Promise<void> | undefined {
  const { state } = run;
  const step = inboxStep(`p${state.iteration}/inbox-end`, run);
  return runStep(step, run, (answer) => applyStep(state, { kind: "close", answer, ending }));
}

function inboxStep(key: string, run: Run): Step<InboxAnswer> {
  return { key, kind: "inbox", input: null, run: () => lookAround(run) };
}

function lookAround({ clock, token, scope, state, bounds }: Run): InboxAnswer {
  const now = clock.now();
  // The first live look: what was active before, in other executions, is already spent.
  scope.startWallClock(bounds.wallClockMs, now - state.activeMs, clock);
  scope.checkDeadline(now);
  return { now, token, ...answerTo(scope.cause) };
}

function answerTo(cause: Cause | undefined): Omit<InboxAnswer, "now" | "token"> | undefined {
  switch (cause?.kind) {
    case undefined:
      return undefined;
    case "kill":
      return { kill: true };
    case "abort":
      return { aborted: { reason: toAbortReason(cause.reason) } };
    case "stop":
      return { stop: { requester: cause.requester, note: cause.note } };
    case "wall-clock":
      return { expired: true };
    default:
      return assertNever(cause);
  }
}
