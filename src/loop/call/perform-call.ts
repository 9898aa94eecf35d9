// One ready call from its first event to its last: it begins, runs or is found unable to, and ends.

import type { ToolOutcome } from "../../contract/tool-outcome.ts";
import { whenReady } from "../../kit/when-ready.ts";
import { dispatchCall } from "../../stages/dispatch-call.ts";
import type { ReadyCall } from "../../stages/prepare-call.ts";
import { finishCall } from "./finish-call.ts";
import type { Run } from "../run/run.ts";
import { sendToolEnd, sendToolStart } from "./tool-events.ts";

/** What is known of a call before it begins. */
export interface CallPast {
  /** Whether it may have run before, in an execution that did not record its end. */
  readonly mayHaveRun: boolean;
  /** Set where a fatal failure came before it: it does not begin. */
  readonly isBarred?: true | undefined;
}

/** Runs one call and tells listeners of it. Part of a step, so that a replayed call does not come here. */
export function performCall(run: Run, ready: ReadyCall, past: CallPast): ToolOutcome | PromiseLike<ToolOutcome> {
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
): ToolOutcome | Promise<ToolOutcome> {
  const { call, definition } = ready;
  scope.checkDeadline(clock.now());
  if (scope.cause !== undefined || isBarred === true)
    return { call, durationMs: 0, kind: mayHaveRun ? "interrupted" : "not-run" };
  if (ready.unfit !== undefined) return mayHaveRun ? { call, durationMs: 0, kind: "interrupted" } : ready.unfit;
  if (meter.toolCallsLeft < 1) return { call, durationMs: 0, kind: "limit" };
  meter.add({ toolCalls: 1 });
  if (mayHaveRun && definition.replay !== "safe" && definition.eager !== true)
    return { call, durationMs: 0, kind: "interrupted" };
  return dispatchCall(ready, ports);
}
