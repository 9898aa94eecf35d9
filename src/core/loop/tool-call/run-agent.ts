// A call that is a run of its own. It is no step: the steps of its run are in the journal under the call's key, between one that begins
// the call and one that ends it, so that it can suspend, crash and go on.

import type { LoopResult } from "../../types/loop-result.ts";
import type { ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { isLoopError } from "../../errors/loop-error.ts";
import { dispatchCall } from "./dispatch-call.ts";
import { type AgentCall, beginAgent, inputOf, keyOf, type Lost } from "./begin-agent.ts";
import { finishCall } from "./finish-call.ts";
import { spendingOf } from "./nested-run.ts";
import type { Dispatched, Run, StartedRun } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";
import { checkRecorded } from "./replay-call.ts";
import { sendToolEnd } from "./tool-events.ts";

/** How the run inside the call ended, or why it could not go on. */
type NestedEnd = { readonly kind: "ended"; readonly result: LoopResult; readonly nested: Run } | Lost;

/** Runs one call as a nested run, or goes on with one. */
export async function runAgent(run: Run, agentCall: AgentCall): Promise<Dispatched> {
  const { call } = agentCall.ready;
  const begun = await beginAgent(run, agentCall);
  if (begun.kind === "must-ask") return begun.end;
  if (begun.kind === "over") return tell(run, call, begun.end);
  const end = begun.kind === "lost" ? begun : await drive(begun.started, begun.isOver);
  if (end.kind === "ended" && end.result.status === "suspended") {
    const { status, reason } = end.result;
    const outcome: ToolOutcome = { call, kind: "interrupted", ...factsOf(end, false) };
    return tell(run, call, { outcome, live: run.journal.replays === undefined, suspended: { status, reason } });
  }
  const body = (): Promise<ToolOutcome> => conclude(run, agentCall, end);
  const step = { key: keyOf(run, agentCall), kind: "tool" as const, input: inputOf(call), run: body };
  return runStep(step, run, (outcome, live) => tell(run, call, { outcome, live }));
}

/** What its journal throws ends the outer run as well. A run whose outcome is recorded may lack records of its own, or be another one by now. */
async function drive({ run, drive: driveNested }: StartedRun, isOver: boolean): Promise<NestedEnd> {
  try {
    return { kind: "ended", result: await driveNested(), nested: run };
  } catch (error) {
    if (isOver && isLoopError(error)) return { kind: "lost", error };
    throw error;
  }
}

function tell(run: Run, call: ToolCall, end: Dispatched): Dispatched {
  checkRecorded(call, end.outcome);
  sendToolEnd(run, end.outcome, end.live);
  return end;
}

/** Makes the call's outcome of the nested run's result, as if that were what a tool did. */
async function conclude(run: Run, { ready, agent }: AgentCall, end: NestedEnd): Promise<ToolOutcome> {
  if (end.kind === "lost" && end.refused !== undefined) return finishCall(run, end.refused);
  let isRead = false;
  const outcome = await dispatchCall(ready, run.ports, () => {
    if (end.kind !== "ended") throw end.error;
    isRead = true;
    return agent.toResult(end.result);
  });
  const settled: ToolOutcome = outcome.kind === "not-run" ? { ...outcome, kind: "interrupted" } : outcome;
  return finishCall(run, end.kind === "ended" ? { ...settled, ...factsOf(end, isRead) } : settled);
}

/** `isRead`: the tool itself was given the result. */
function factsOf(
  { result, nested }: Extract<NestedEnd, { kind: "ended" }>,
  isRead: boolean,
): Pick<ToolOutcome, "durationMs" | "nested" | "undelivered"> {
  const facts = { durationMs: result.durationMs, nested: spendingOf(result, nested) };
  const undelivered = result.undelivered.map(({ content }) => content);
  return isRead || undelivered.length === 0 ? facts : { ...facts, undelivered };
}
