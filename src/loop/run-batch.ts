// The calls of one pass in three phases: every call is prepared, then approved, then dispatched in waves; the answers are folded in
// call order.

import type { ToolOutcome } from "../contract/tool-outcome.ts";
import { isThenable } from "../kit/is-thenable.ts";
import { detectContextRestart } from "../stages/context-restart.ts";
import { prepareCall, type PreparePorts, type ReadyCall } from "../stages/prepare-call.ts";
import { applyStep } from "../state/apply-step.ts";
import type { SettledCall } from "../state/loop-state.ts";
import { approveCalls } from "./approve-calls.ts";
import { dispatchWaves } from "./dispatch-waves.ts";
import type { Run } from "./run.ts";

/** A call that may run, or the outcome of one that may not. */
export type Prepared = ReadyCall | ToolOutcome;

/** A call's outcome, and whether it came about in this execution. */
export interface Dispatched {
  readonly outcome: ToolOutcome;
  readonly live: boolean;
}

/** Runs the calls of the current turn and folds their outcomes. */
export async function runBatch(run: Run): Promise<void> {
  const { state } = run;
  const { calls } = state.turn;
  if (calls.length > 0) run.control?.startToolChain();
  const ports = preparePorts(run);
  const preparing = calls.map((call) => prepareCall(call, ports));
  const prepared = preparing.some(isThenable) ? await Promise.all(preparing) : (preparing as Prepared[]);
  const approved = run.options.policies?.approve === undefined ? prepared : await approveCalls(run, prepared, ports);
  const dispatched = await dispatchWaves(run, withinLimit(run, approved));
  const settled = dispatched.map((call) => settleCall(run, call));
  applyStep(state, { kind: "batch", settled });
}

function preparePorts(run: Run): PreparePorts {
  return {
    registry: run.registry,
    exposed: run.exposure.byName,
    allowed: run.allowedNames,
    hookMs: run.timeouts.hookMs,
    clock: run.clock,
    scope: run.scope,
  };
}

/** Of a batch that crosses `maxToolCalls` the prefix that fits runs; past it nothing does. */
function withinLimit({ state, bounds }: Run, prepared: readonly Prepared[]): readonly Prepared[] {
  let left = state.toolLimitReached ? 0 : bounds.maxToolCalls - state.toolCallsExecuted;
  if (left >= prepared.length) return prepared;
  return prepared.map((entry): Prepared => {
    if (entry.kind !== "ready") return entry;
    left -= 1;
    return left >= 0 ? entry : { call: entry.call, durationMs: 0, kind: "limit" };
  });
}

/** What follows a call, in the order of the calls: the gate retains its tool, its trigger is told, a restart is found. */
function settleCall(run: Run, { outcome, live }: Dispatched): SettledCall {
  if (outcome.kind !== "completed") return { outcome };
  const { events, state, options } = run;
  const { callId, name } = outcome.call;
  const base = { runId: events.runId, iteration: state.iteration, callId, name, replayed: live ? undefined : true };
  const gate = options.policies?.gate;
  if (gate?.active === true && live) retain(run, name);
  const trigger = gate?.active === true ? gate.triggerMatchByToolName?.get(name) : undefined;
  if (trigger !== undefined) events.send("hidden-notice", { ...base, trigger });
  const restart = detectContextRestart(outcome, options.policies?.restarts);
  if (restart === undefined) return { outcome };
  events.send("restart", { ...base, suffix: restart.suffix, disableTools: restart.disableTools });
  return { outcome, restart };
}

/** The caller's own bookkeeping may fail without harm to the run. */
function retain({ options, events, state }: Run, name: string): void {
  events.guard({ type: "retain", iteration: state.iteration }, () => options.policies?.gate?.retain?.(name));
}
