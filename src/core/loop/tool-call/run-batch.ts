// The calls of one iteration in three phases: every call is prepared, then approved, then dispatched in waves; the answers are folded in
// call order.

import type { CallEvent, TriggerMatch } from "../../types/loop-event.ts";
import type { ContextRestart, ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import { isRecord, isThenable } from "../../utils/guards.ts";
import { redactJson } from "../../utils/redact-secrets.ts";
import { whenReady } from "../../utils/promises.ts";
import { findIdenticalCalls, findLoop } from "../state/identical-calls.ts";
import { detectContextRestart } from "../restart/detect-context-restart.ts";
import { applyStep } from "../state/apply-step.ts";
import { wasDispatched } from "../../tools/render-outcome.ts";
import type { Repeats, SettledCall } from "../state/loop-state.ts";
import { earlyOutcomesOf } from "../state/transcript.ts";
import { approveCalls } from "./approve-calls.ts";
import { createRoom, type OverCall } from "./batch-entry.ts";
import { awaitValidations, createRecall, refuseChangedTools } from "./record-verdicts.ts";
import { dispatchWaves } from "./dispatch-waves.ts";
import type { Dispatched } from "../run/call.ts";
import { eventBase, type Run } from "../run/run.ts";

/** Runs the calls of the current turn and folds their outcomes. */
export function runBatch(run: Run): void | PromiseLike<void> {
  const { state } = run;
  const recall = createRecall(run);
  const { calls } = state.turn;
  if (calls.length > 0) run.control?.startToolChain();
  const early = earlyOutcomesOf(state.turn);
  const prepare = (call: ToolCall): ReturnType<typeof recall> | OverCall => {
    const outcome = early.get(call.callId);
    // A call that was started while the model spoke is over already.
    return outcome === undefined ? recall(call) : { kind: "over", outcome, live: !run.replayed, announced: true };
  };
  const prepared = awaitValidations(run, calls.map(prepare));
  const approved = mayAsk(run) ? whenReady(prepared, (entries) => approveCalls(run, entries)) : prepared;
  const dispatched = whenReady(approved, (entries) => {
    refuseChangedTools(run, entries);
    const room = createRoom(run);
    return dispatchWaves(run, entries.map(room.admit));
  });
  return whenReady(dispatched, (outcomes) => {
    const loop = findToldLoop(run);
    const settled = outcomes.map((call) => settleCall(run, call));
    return whenReady(run.features.results?.process(run, settled) ?? settled, (read) => {
      applyStep(state, { kind: "batch", settled: read, loop });
      sendIdentical(run);
    });
  });
}

function mayAsk({ options, visibleTools }: Run): boolean {
  return options.policies?.approve !== undefined || visibleTools.hasApproval || visibleTools.recorded !== undefined;
}

/** Tells listeners that the run ends because its last iterations did the same. */
function sendIdentical(run: Run): void {
  const loop = findIdenticalCalls(run.state, run.bounds);
  if (loop === undefined) return;
  run.events.send({ type: "loop-detected", ...eventBase(run, !run.replayed), ...loop, cycle: 1, action: "stop" });
}

/** A loop that the model is told of. */
function findToldLoop({ state, bounds: { loopRule } }: Run): Repeats | undefined {
  return loopRule?.action === "inject-warning" ? findLoop(state, loopRule) : undefined;
}

/** What follows a call, in the order of the calls: the gate retains its tool, its trigger is told, a restart is found. */
function settleCall(run: Run, { outcome, live, suspended, awaiting }: Dispatched): SettledCall {
  if (awaiting !== undefined) return { outcome, awaiting: awaiting.id, toolChanges: awaiting.toolChanges };
  const { policies } = run.options;
  if (policies?.gate?.active === true) tellGate(run, outcome, live);
  if (outcome.kind !== "completed") return suspended === undefined ? { outcome } : { outcome, suspended };
  const restart = detectContextRestart(outcome, policies?.restarts);
  if (restart === undefined) {
    const requiresFollowUp = run.ports.exposed.get(outcome.call.name)?.requiresFollowUp;
    return requiresFollowUp === undefined ? { outcome } : { outcome, needsNoFollowUp: !requiresFollowUp };
  }
  sendRestart(run, callEvent(run, outcome, live), restart);
  return { outcome, restart };
}

function sendRestart({ events }: Run, base: CallEvent, restart: ContextRestart): void {
  const { suffix, disableTools, pendingContextKey } = restart;
  const found = restart.pendingContext === undefined ? "missing" : "found";
  const pendingContext = pendingContextKey === undefined ? undefined : found;
  events.send({ type: "restart", ...base, suffix, disableTools, pendingContext });
}

/** The gate's own bookkeeping may fail without harm to the run; on replay it has been done. */
function tellGate(run: Run, outcome: ToolOutcome, live: boolean): void {
  const { kind, call } = outcome;
  const { options, events, state } = run;
  const gate = options.policies?.gate;
  const { name, args } = call;
  if (live && kind === "completed") events.guard({ type: "retain", iteration: state.iteration }, () => gate?.retain?.(name));
  if (!wasDispatched(kind)) return;
  let trigger: TriggerMatch | undefined;
  const find = (): unknown => {
    const found: unknown = gate?.triggerMatchByToolName?.get(name);
    if (isRecord(found) && !isThenable(found)) trigger = found as unknown as TriggerMatch;
    return found;
  };
  events.guard({ type: "triggerMatchByToolName", iteration: state.iteration }, find);
  if (trigger === undefined) return;
  events.send({ type: "hidden-notice", ...callEvent(run, outcome, live), trigger, args: redactJson(args) });
}

function callEvent(run: Run, { call: { callId, name } }: ToolOutcome, live: boolean): CallEvent {
  return { ...eventBase(run, live), callId, name, index: run.ports.indexOf(callId) };
}
