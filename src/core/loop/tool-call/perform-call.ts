// One ready call from its first event to its last: it begins, runs or is found unable to, and ends.

import type { ToolOutcome } from "../../types/tool-outcome.ts";
import { whenReady } from "../../utils/when-ready.ts";
import { dispatchCall, refuseChanged } from "./dispatch-call.ts";
import { validateCall } from "./prepare-call.ts";
import type { ReadyCall } from "../run/prepared-call.ts";
import { finishCall } from "./finish-call.ts";
import type { Run, ToolAnswer } from "../run/run.ts";
import { sendToolEnd, sendToolStart } from "./tool-events.ts";

/** What is known of a call before it begins. */
export interface CallPast {
  /** Whether it may have run before, in an execution that did not record its end. */
  readonly mayHaveRun: boolean;
  /** Set where a fatal failure came before it: it does not begin. */
  readonly isBarred?: true | undefined;
  /** How often somebody was asked about it again. Default 0. */
  readonly round?: number | undefined;
}

/** A registry that shows another tool each time would have somebody asked for ever. */
const mostRounds = 3;

/** Whether a call that could run now has to be decided about first: nobody was asked, or its tool is not the one that was approved. */
export function findQuestion(run: Run, ready: ReadyCall, past: CallPast): ReadyCall["mustAsk"] {
  const { mayHaveRun, isBarred, round = 0 } = past;
  if (run.scope.cause !== undefined || isBarred === true || round === mostRounds || ready.unfit !== undefined) return undefined;
  if (mayHaveRun && !mayRunAgain(ready)) return undefined;
  if (ready.mustAsk !== undefined) return ready.mustAsk;
  return ready.approved === true && !run.ports.isCurrent(ready.definition) ? "again" : undefined;
}

function mayRunAgain({ definition }: ReadyCall): boolean {
  return definition.replay === "safe" || definition.eager === true;
}

/** Runs one call and tells listeners of it. Part of a step, so that a replayed call does not come here. */
export function performCall(run: Run, ready: ReadyCall, past: CallPast): ToolAnswer | PromiseLike<ToolAnswer> {
  const mustAsk = findQuestion(run, ready, past);
  if (mustAsk !== undefined) return { call: ready.call, durationMs: 0, kind: "not-run", mustAsk };
  sendToolStart(run, ready.call, true);
  return whenReady(dispatch(run, ready, past), (outcome) =>
    whenReady(finishCall(run, outcome), (whole) => {
      sendToolEnd(run, whole, true);
      return whole;
    }),
  );
}

/** What runs around this one and beside it have left of a common limit is known only now. */
function dispatch(
  { meter, ports, scope, clock }: Run,
  ready: ReadyCall,
  { mayHaveRun, isBarred }: CallPast,
): ToolOutcome | PromiseLike<ToolOutcome> {
  const { call } = ready;
  scope.checkDeadline(clock.now());
  if (scope.cause !== undefined || isBarred === true)
    return { call, durationMs: 0, kind: mayHaveRun ? "interrupted" : "not-run" };
  if (ready.unfit !== undefined) return mayHaveRun ? { call, durationMs: 0, kind: "interrupted" } : ready.unfit;
  if (meter.toolCallsLeft < 1) return { call, durationMs: 0, kind: "limit" };
  meter.add({ toolCalls: 1 });
  if (mayHaveRun && !mayRunAgain(ready)) return { call, durationMs: 0, kind: "interrupted" };
  if (ready.mustAsk !== undefined) return refuseChanged(call, ports);
  if (ready.unvalidated !== true) return dispatchCall(ready, ports);
  return whenReady(validateCall(ready, ports), (checked) => (checked.kind === "ready" ? dispatchCall(checked, ports) : checked));
}
