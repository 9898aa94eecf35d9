// Looks at the calls of a turn when its stream has ended. What their schemas say is recorded with the stream, at no step of its own: a
// schema that is asked again may say something else.

import type { Refusal, StreamResult } from "../../contract/stream-result.ts";
import { isThenable } from "../../kit/is-thenable.ts";
import { type Prepared, prepareCall } from "../../stages/prepare-call.ts";
import { joinTurn } from "../../state/join-turn.ts";
import { earlyOutcomesOf } from "../../state/transcript.ts";
import type { Run } from "../run/run.ts";

/** Prepares the calls of a turn that is complete, and adds to its result which of them are refused or not decided yet. */
export function prepareCalls(run: Run, result: StreamResult): StreamResult {
  if (result.status !== "function_call" || result.stop !== undefined) return result;
  const { state, ports, scope, control } = run;
  const early = new Map([...earlyOutcomesOf(state.hop === 0 ? {} : state.turn), ...earlyOutcomesOf(result)]);
  const { calls } = state.hop === 0 ? result : joinTurn(state.turn, result);
  if (calls.length === 0) return result;
  // An interrupt comes too late by now: it would cut a validation off, and the call would run all the same.
  scope.withdrawInterrupt();
  const prepared = new Map<string, Prepared | Promise<Prepared>>();
  const refusals: Refusal[] = [];
  const lateChecks: string[] = [];
  for (const call of calls) {
    const { callId } = call;
    if (early.has(callId)) continue;
    const entry = prepareCall(call, ports);
    prepared.set(callId, entry);
    if (isThenable(entry)) lateChecks.push(callId);
    // What else refuses a call is said by the rest of the record.
    else if (entry.kind === "invalid-input") refusals.push({ callId, issues: entry.issues });
  }
  if (lateChecks.length > 0) control?.startToolChain();
  run.prepared = prepared;
  return {
    ...result,
    ...(refusals.length === 0 ? {} : { refusals }),
    ...(lateChecks.length === 0 ? {} : { lateChecks }),
  };
}
