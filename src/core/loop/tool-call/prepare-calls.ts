// Looks at the calls of a turn when its stream has ended. Which of them are refused is recorded with the stream, at no step of its own: a
// schema or a gate that is asked again may say something else.

import type { StreamResult } from "../../types/stream-result.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { isThenable } from "../../utils/is-thenable.ts";
import { prepareCall } from "./prepare-call.ts";
import type { Prepared } from "../run/prepared-call.ts";
import { joinTurn } from "../state/join-turn.ts";
import { earlyOutcomesOf } from "../state/transcript.ts";
import type { Run } from "../run/run.ts";

type Calls = Map<string, Prepared | Promise<Prepared>>;

/** Prepares the calls of a turn that is complete, and adds to its result which of them are refused or not decided yet. */
export function prepareCalls(run: Run, result: StreamResult): StreamResult {
  if (result.status !== "tool-calls" || result.stop !== undefined) return result;
  const calls = findCalls(run, result);
  if (calls.length === 0) return result;
  // An interrupt comes too late by now: it would cut a validation off, and the call would run all the same.
  run.scope.withdrawInterrupt();
  const prepared: Calls = new Map(calls.map((call) => [call.callId, prepareCall(call, run.ports)]));
  run.prepared = prepared;
  const lateChecks = [...prepared].flatMap(([callId, entry]) => (isThenable(entry) ? [callId] : []));
  if (lateChecks.length > 0) run.control?.startToolChain();
  const refusals = findRefusals(prepared);
  return {
    ...result,
    ...(refusals.length === 0 ? {} : { refusals }),
    ...(lateChecks.length === 0 ? {} : { lateChecks }),
  };
}

/** The calls of the whole turn, without those that were started while the model spoke. */
function findCalls({ state: { continuation, turn } }: Run, result: StreamResult): readonly ToolCall[] {
  const early = new Map([...earlyOutcomesOf(continuation === 0 ? {} : turn), ...earlyOutcomesOf(result)]);
  const { calls } = continuation === 0 ? result : joinTurn(turn, result);
  return calls.filter(({ callId }) => !early.has(callId));
}

function findRefusals(prepared: Calls): readonly ToolOutcome[] {
  return [...prepared.values()].flatMap((entry) => (isThenable(entry) || entry.kind === "ready" ? [] : [entry]));
}
