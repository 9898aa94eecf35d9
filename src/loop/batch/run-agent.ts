// A call that is a run of its own. It is no step: the steps of its run are in the journal under the call's key, between one that begins
// the call and one that ends it, so that it can suspend, crash and go on.

import type { Agent, NestedLoopOptions } from "../../contract/loop-options.ts";
import type { LoopResult } from "../../contract/loop-result.ts";
import type { ToolOutcome } from "../../contract/tool-outcome.ts";
import { LoopError } from "../../errors/loop-error.ts";
import { Deadline } from "../../kit/deadline.ts";
import { isRecord } from "../../kit/is-record.ts";
import { RunScope } from "../../kit/run-scope.ts";
import { dispatchCall, refuseChanged } from "../../stages/dispatch-call.ts";
import { type ReadyCall, validateCall } from "../../stages/prepare-call.ts";
import { askHook } from "../run/ask-hook.ts";
import { findQuestion } from "../call/perform-call.ts";
import { finishCall } from "../call/finish-call.ts";
import { spendingOf, startNested } from "../call/nested-run.ts";
import type { Park } from "../run/parking.ts";
import { prefixJournal } from "../run/prefix-journal.ts";
import type { Dispatched, NestedRun, Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";
import { againKey, callKey } from "../run/step-key.ts";
import { sendToolEnd, sendToolStart } from "../call/tool-events.ts";

/** A call that becomes a run. */
export interface AgentCall {
  readonly ready: ReadyCall;
  readonly index: number;
  /** How often somebody was asked about the call again. */
  readonly round: number;
  readonly agent: Agent;
  /** Set where it begins no more, and only goes on. */
  readonly isBarred?: true | undefined;
  readonly park: Park;
}

/** How the run inside a call ended, or why there is none. */
type NestedEnd =
  | { readonly kind: "ended"; readonly result: LoopResult; readonly nested: Run }
  | { readonly kind: "not-started"; readonly error: unknown };

/** Runs one call as a nested run, or goes on with one. */
export async function runAgent(run: Run, agentCall: AgentCall): Promise<Dispatched> {
  const { ready, index, round } = agentCall;
  const { call } = ready;
  const key = againKey(callKey(run.state, "tool", { index, name: call.name }), "again", round);
  const begun = await begin(run, agentCall);
  const { live } = begun;
  if (begun.kind === "must-ask") return { outcome: { call, durationMs: 0, kind: "not-run", mustAsk: begun.mustAsk }, live };
  sendToolStart(run, call, live);
  if (begun.kind === "refused") return tell(run, { outcome: begun.outcome, live });
  if (begun.kind !== "begun") return tell(run, { outcome: { call, durationMs: 0, kind: begun.kind }, live });
  const end = await runNested(run, agentCall, { key, isResumed: !live });
  if (end.kind === "ended" && end.result.status === "suspended") {
    const { status, reason } = end.result;
    const outcome: ToolOutcome = { call, kind: "interrupted", ...factsOf(end) };
    return tell(run, { outcome, live: run.journal.replays === undefined, suspended: { status, reason } });
  }
  const input = { callId: call.callId, name: call.name, args: call.args };
  const step = { key, kind: "tool" as const, input, run: () => conclude(run, agentCall, end) };
  return runStep(step, run, (outcome, isLive) => tell(run, { outcome, live: isLive }));
}

function tell(run: Run, end: Dispatched): Dispatched {
  sendToolEnd(run, end.outcome, end.live);
  return end;
}

type Begun =
  | { readonly kind: "begun" | "not-run" | "limit" }
  | { readonly kind: "must-ask"; readonly mustAsk: "first" | "again" }
  | { readonly kind: "refused"; readonly outcome: ToolOutcome };

/** Whether the call may still begin is looked at once, and recorded. */
async function begin(run: Run, agentCall: AgentCall): Promise<Begun & { readonly live: boolean }> {
  const { ready, index, isBarred, round } = agentCall;
  const { meter, scope, clock } = run;
  const body = async (): Promise<Begun> => {
    scope.checkDeadline(clock.now());
    if (scope.cause !== undefined || isBarred === true) return { kind: "not-run" };
    const mustAsk = findQuestion(run, ready, { mayHaveRun: false, isBarred, round });
    if (mustAsk !== undefined) return { kind: "must-ask", mustAsk };
    const checked = ready.unvalidated === true ? await validateCall(ready, run.ports) : ready;
    if (checked.kind !== "ready") return { kind: "refused", outcome: checked };
    if (ready.mustAsk !== undefined || !run.ports.isCurrent(ready.definition))
      return { kind: "refused", outcome: refuseChanged(ready.call, run) };
    if (meter.toolCallsLeft < 1) return { kind: "limit" };
    meter.add({ toolCalls: 1 });
    return { kind: "begun" };
  };
  const key = againKey(callKey(run.state, "agent", { index, name: ready.call.name }), "again", round);
  return runStep({ key, kind: "intent", input: null, run: body }, run, (begun, live) => {
    if (begun.kind === "begun" && !live) meter.add({ toolCalls: 1 });
    return { ...begun, live };
  });
}

interface NestedPlace {
  readonly key: string;
  /** Whether an execution before this one began it. */
  readonly isResumed: boolean;
}

/**
 * Ports for asking about a nested run that began in another execution, in a run that is being ended. Only the nested run knows whether it
 * waits: without it, a call that waits inside would be recorded as cut off.
 */
function toBrief({ clock, timeouts }: Run): Pick<Run, "clock" | "scope" | "timeouts"> {
  const hookMs = Math.max(1, Math.min(timeouts.hookMs, timeouts.settleMs));
  return { clock, scope: new RunScope(), timeouts: { ...timeouts, hookMs } };
}

/** What is misuse in the options of a nested run is for the model to read; what its journal throws ends the outer run as well. */
async function runNested(run: Run, { ready, agent, park }: AgentCall, { key, isResumed }: NestedPlace): Promise<NestedEnd> {
  const { callId } = ready.call;
  if (run.depth + 1 >= run.maxDepth) {
    return { kind: "not-started", error: new LoopError("depth-exceeded", { current: run.depth + 1, limit: run.maxDepth }) };
  }
  const deadline = new Deadline({ limitMs: Number.POSITIVE_INFINITY }, run);
  run.scope.join(deadline);
  let nested: NestedRun;
  try {
    const context = run.ports.contextFor(ready.call, deadline);
    const ports = isResumed && run.scope.cause !== undefined ? toBrief(run) : run;
    const asked = await askHook(() => agent.prepare(ready.args, context), toOptions, ports);
    if (asked.kind !== "value") return { kind: "not-started", error: asked.kind === "failed" ? asked.thrown : undefined };
    const journal = prefixJournal(run.journal, { prefix: `${key}/`, failureOf: () => failureOf(run) });
    const own = { journal, runId: `${run.runId}/${key}`, resume: undefined };
    nested = startNested({ run, callId, isPart: true, park }, { ...asked.value, ...own });
  } catch (error) {
    return { kind: "not-started", error };
  } finally {
    deadline.end();
    run.scope.leave(deadline);
  }
  return { kind: "ended", result: await nested.result, nested: nested.run };
}

/** What broke this run or one around it. */
function failureOf(run: Run): Run["failure"] {
  return run.failure ?? (run.outer === undefined ? undefined : failureOf(run.outer));
}

function toOptions(value: unknown): NestedLoopOptions {
  if (!isRecord(value)) throw new TypeError("The agent's prepare() gave no options for its run.");
  return value as unknown as NestedLoopOptions;
}

/** Makes the call's outcome of the nested run's result, as if that were what a tool did. */
async function conclude(run: Run, { ready, agent }: AgentCall, end: NestedEnd): Promise<ToolOutcome> {
  const outcome = await dispatchCall(ready, run.ports, () => {
    if (end.kind === "ended") return agent.toResult(end.result);
    throw end.error;
  });
  const settled: ToolOutcome = outcome.kind === "not-run" ? { ...outcome, kind: "interrupted" } : outcome;
  return finishCall(run, end.kind === "ended" ? { ...settled, ...factsOf(end) } : settled);
}

function factsOf({ result, nested }: Extract<NestedEnd, { kind: "ended" }>): Pick<ToolOutcome, "durationMs" | "nested"> {
  return { durationMs: result.durationMs, nested: spendingOf(result, nested) };
}
