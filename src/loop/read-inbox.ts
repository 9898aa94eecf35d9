// Reads what has come from outside since the last look, as a step: what the loop judges is the recorded answer.

import type { Ending } from "../contract/termination.ts";
import { assertNever } from "../kit/assert-never.ts";
import type { Cause } from "../kit/run-scope.ts";
import { whenReady } from "../kit/when-ready.ts";
import { applyStep } from "../state/apply-step.ts";
import { toAbortReason } from "../state/ending-of-cause.ts";
import type { InboxAnswer } from "../state/loop-state.ts";
import type { Run } from "./run.ts";
import { runStep } from "./run-step.ts";
import { stepKey } from "./step-key.ts";

/** Reads the inbox: a new pass begins. */
export function readInbox(run: Run): void | PromiseLike<void> {
  const { state } = run;
  const iteration = state.phase === "start" ? 0 : state.iteration + 1;
  const key = stepKey({ iteration, reopens: 0 }, "inbox");
  run.replayed = true;
  const body = (): InboxAnswer => {
    run.replayed = false;
    return lookAround(run);
  };
  const answer = runStep({ key, kind: "inbox", input: null, run: body }, run);
  return whenReady(answer, (found) => applyStep(state, { kind: "inbox", answer: found }));
}

/** Reads the inbox a last time before an ending. */
export function readLastInbox(run: Run, ending: Ending): void | PromiseLike<void> {
  const { state } = run;
  const key = stepKey(state, "inbox-end");
  const answer = runStep({ key, kind: "inbox", input: null, run: () => lookAround(run) }, run);
  return whenReady(answer, (found) => applyStep(state, { kind: "close", answer: found, ending }));
}

function lookAround(run: Run): InboxAnswer {
  const { clock, token, scope } = run;
  const now = clock.now();
  scope.checkDeadline(now);
  const { cause } = scope;
  return cause === undefined ? { now, token } : { now, token, ...answerTo(cause) };
}

function answerTo(cause: Cause): Omit<InboxAnswer, "now" | "token"> {
  switch (cause.kind) {
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
