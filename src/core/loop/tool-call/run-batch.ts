// Runs the calls of one iteration in three phases: all calls are prepared, then approved, then dispatched in waves. The outcomes
// enter the state in call order.

import type { CallEvent, TriggerMatch } from "../../types/loop-event.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { ContextRestart, ToolOutcome } from "../../types/tool-outcome.ts";
import { isRecord, isThenable } from "../../utils/guards.ts";
import { edges } from "../../utils/edges.ts";
import { whenReady } from "../../utils/promises.ts";
import { findIdenticalCalls, findLoop } from "../state/apply-call.ts";
import { detectContextRestart, isUnmarkedRestart } from "../restart/context-restart.ts";
import { applyStep } from "../state/apply-step.ts";
import { wasDispatched } from "../../tools/outcome-texts.ts";
import type { Repeats, SettledCall } from "../state/step-result.ts";
import { earlyOutcomesOf } from "../state/transcript.ts";
import { approveCalls } from "./approve-calls.ts";
import { recallCalls } from "./record-verdicts.ts";
import { dispatchCalls } from "./dispatch-calls.ts";
import { type BatchCall, eventBase, type Run, toBatchCall } from "../run/run.ts";

export function runBatch(run: Run): void | PromiseLike<void> {
  const calls = collectCalls(run);
  if (calls.length > 0) run.control?.startToolChain();
  const approved = whenReady(recallCalls(run, calls), () => (mayAsk(run) ? approveCalls(run, calls) : undefined));
  // Most batches need no promise, so their calls are dispatched synchronously.
  const dispatched = isThenable(approved) ? approved.then(() => dispatchCalls(run, calls)) : dispatchCalls(run, calls);
  return whenReady(dispatched, () => settleBatch(run, calls));
}

function settleBatch(run: Run, calls: readonly BatchCall[]): void | PromiseLike<void> {
  const loop = findLoopToWarnOf(run);
  const settled = calls.map((one) => toSettled(run, one));
  return whenReady(run.features.results?.process(run, settled) ?? settled, (read) => {
    const { length } = run.state.handoffs;
    applyStep(run.state, { kind: "batch", settled: read, loop });
    sendHandoff(run, calls, length);
    sendIdentical(run);
  });
}

/** A call that was started during the stream already has its outcome. */
function collectCalls(run: Run): readonly BatchCall[] {
  const { current } = run.state;
  const early = earlyOutcomesOf(current);
  const calls = current.calls.map(toBatchCall);
  if (early.size === 0) return calls;
  for (const one of calls) {
    one.outcome = early.get(one.call.callId);
    if (one.outcome === undefined) continue;
    one.isLive = !run.isIterationReplayed;
    one.isEmitted = true;
  }
  return calls;
}

function mayAsk({ options, visibleTools }: Run): boolean {
  return options.policies?.approve !== undefined || visibleTools.hasApproval || visibleTools.recorded !== undefined;
}

function sendIdentical(run: Run): void {
  const loop = findIdenticalCalls(run.state, run.bounds);
  if (loop === undefined) return;
  run.events.send({ type: "loop-detected", ...eventBase(run, !run.isIterationReplayed), ...loop, cycle: 1, action: "stop" });
}

function findLoopToWarnOf({ state, bounds: { loopRule } }: Run): Repeats | undefined {
  return loopRule?.action === "inject-warning" ? findLoop(state, loopRule) : undefined;
}

function toSettled(run: Run, one: BatchCall): SettledCall {
  const { call, outcome, isLive, suspended, pending } = one;
  if (outcome === undefined || isLive === undefined) throw new Error(`The call ${call.callId} has no outcome.`);
  if (pending !== undefined) return { outcome, awaiting: pending.id, toolChanges: pending.toolChanges };
  notifyGate(run, outcome, isLive);
  const polls = traitsOf(run, call.name).polls === true ? ({ polls: true } as const) : undefined;
  if (outcome.kind === "completed") return { ...toCompleted(run, outcome, isLive), ...polls };
  return suspended === undefined ? { outcome, ...polls } : { outcome, suspended };
}

/** A replayed call has the traits that its tool had when the call was recorded. */
function traitsOf({ visibleTools, ports }: Run, name: string): Pick<ToolDefinition, "polls" | "requiresFollowUp" | "origin"> {
  return visibleTools.recorded?.tools.get(name) ?? ports.exposed.get(name) ?? {};
}

/** Adds the effect of a completed call: a context restart, or whether the model has to answer after this tool. */
function toCompleted(run: Run, outcome: ToolOutcome, isLive: boolean): SettledCall {
  const restart = detectContextRestart(outcome, run.options.policies?.restarts);
  if (restart === undefined) {
    const { requiresFollowUp, origin } = traitsOf(run, outcome.call.name);
    // The data of a server or a page must not restart anything, so only the caller's own tools get this notice.
    if (isLive && origin === undefined && isUnmarkedRestart(outcome))
      run.events.send({ type: "notice", ...eventBase(run), kind: "unmarked-restart", toolName: outcome.call.name });
    return requiresFollowUp === undefined ? { outcome } : { outcome, needsNoFollowUp: !requiresFollowUp };
  }
  sendRestart(run, callEvent(run, outcome, isLive), restart);
  return { outcome, restart };
}

function sendRestart({ events }: Run, base: CallEvent, restart: ContextRestart): void {
  const { suffix, disableTools, pendingContextKey } = restart;
  const found = restart.pendingContext === undefined ? "missing" : "found";
  const pendingContext = pendingContextKey === undefined ? undefined : found;
  events.send({ type: "restart", ...base, suffix, disableTools, pendingContext });
}

function sendHandoff(run: Run, calls: readonly BatchCall[], before: number): void {
  const made = run.state.handoffs[before];
  const one = calls.find(({ call }) => call.callId === made?.callId);
  if (made === undefined || one?.outcome === undefined) return;
  const { from, to, reason } = made;
  run.events.send({ type: "handoff", ...callEvent(run, one.outcome, one.isLive === true), from, to, reason });
}

/**
 * Calls the functions of `policies.gate` for a finished call. Errors of these functions do not affect the run. `retain` is not
 * called on replay.
 */
function notifyGate(run: Run, outcome: ToolOutcome, live: boolean): void {
  const { kind, call } = outcome;
  const { options, events, state } = run;
  const gate = options.policies?.gate;
  if (gate?.active !== true) return;
  const { name, args } = call;
  if (live && kind === "completed") events.guard({ type: "retain", iteration: state.iteration }, () => gate.retain?.(name));
  if (!wasDispatched(kind)) return;
  let trigger: TriggerMatch | undefined;
  const find = (): unknown => {
    const found: unknown = gate.triggerMatchByToolName?.get(name);
    if (isRecord(found) && !isThenable(found)) trigger = found as unknown as TriggerMatch;
    return found;
  };
  events.guard({ type: "triggerMatchByToolName", iteration: state.iteration }, find);
  if (trigger === undefined) return;
  events.send({ type: "hidden-notice", ...callEvent(run, outcome, live), trigger, args: edges.redactJson(args) });
}

function callEvent(run: Run, { call: { callId, name } }: ToolOutcome, live: boolean): CallEvent {
  return { ...eventBase(run, live), callId, name, index: run.ports.indexOf(callId) };
}
