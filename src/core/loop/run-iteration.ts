// Performs one model request: builds the request, emits the events of its stream, and updates the state.

import type { CallSummary } from "../types/loop-event.ts";
import type { Step } from "../types/old-journal.ts";
import type { StreamResult } from "../types/provider.ts";
import { freezeDeep } from "../utils/json.ts";
import { isThenable } from "../utils/guards.ts";
import { whenReady } from "../utils/promises.ts";
import { findLoop } from "./state/apply-call.ts";
import { type Masked, type ResultMasking, type OpenIteration, eventBase, type Run } from "./run/run.ts";
import { partsOf } from "./stream/call-drafts.ts";
import { applyStep } from "./state/apply-step.ts";
import { type ModelStep, openStream, planRequest } from "./open-stream.ts";
import { noteAdjustments, noteCache, noteGuardrails } from "./run/note-stream.ts";
import { exposeRecorded } from "./stream/visible-tools.ts";
import { replayCall, toSpending } from "./tool-call/call-ports.ts";
import { runStep } from "./run/run-step.ts";
import { suspensionOf } from "./state/loop-state.ts";
import { streamKey } from "./state/step-key.ts";

export function runIteration(run: Run, next: ModelStep): void | PromiseLike<void> {
  const { state } = run;
  const { continuation } = state;
  // A request for a final answer has its own key, because a run that is resumed with higher limits sends a normal request
  // instead.
  const key = streamKey(state, next.finalAnswerTo === undefined ? "model" : "final-answer");
  const masked = maskOld(run);
  const earlier = continuation === 0 ? [] : state.current.calls;
  if (continuation === 0) {
    run.ports.ended.clear();
    run.ports.waiting.clear();
  }
  run.isIterationReplayed = true;
  run.prepared = undefined;
  const guard = run.features.guardrails?.begin(run, key);
  run.guard = guard;
  const step: Step<StreamResult> = {
    key,
    kind: "model",
    input: null,
    run: () => {
      sendStart(run, masked);
      const plan = planRequest(run);
      return isThenable(plan) ? plan.then((made) => openStream(run, next, made)) : openStream(run, next, plan);
    },
  };
  return runStep(step, run, (result, live) => {
    if (!live) {
      run.visibleTools = exposeRecorded(run, result);
      run.toolChoice = result.toolChoice;
      result.calls.forEach(({ callId }, index) => run.ports.places.set(callId, earlier.length + index));
      sendStart(run, masked);
      sendReplayed(run, result, earlier.length);
    }
    return whenReady(guard?.checked, (checked) => {
      noteGuardrails(run, result.guardrails, { stage: "output", live });
      noteAdjustments(run, result.adjustments, live);
      noteCache(run, result.cache, live);
      run.meter.addUsage(result);
      run.meter.settle();
      applyStep(state, { kind: "model", result, checked, finalAnswerTo: next.finalAnswerTo });
      if (!live) replayEarly(run, result);
      run.openIteration = { result, continuation, earlier, live };
      sendLoop(run);
    });
  });
}

/** Counts the cost of all calls that ran during the stream, including the calls of discarded attempts. */
function replayEarly(run: Run, { eagerOutcomes = [], eagerSpent = [] }: StreamResult): void {
  for (const outcome of eagerOutcomes) replayCall(run, outcome, false);
  for (const spent of eagerSpent) run.meter.add(toSpending(spent));
}

function maskOld(run: Run): Masked | undefined {
  if (run.view === undefined && run.state.releases.length > 0) run.view = findMasking(run)?.createView();
  return run.view?.update(run.state);
}

/**
 * Returns the `masking` of the tool that releases results. Searches the tools that the model saw, because the registry may have
 * changed.
 */
function findMasking({ visibleTools }: Run): ResultMasking | undefined {
  return visibleTools.registered.find(({ masking }) => masking !== undefined)?.masking as ResultMasking | undefined;
}

function sendStart(run: Run, masked: Masked | undefined): void {
  const { events, state } = run;
  const { iteration, continuation } = state;
  const base = eventBase(run, !run.isIterationReplayed);
  const warns = iteration === run.bounds.softWarnIteration && continuation === 0 && run.session.surfaceUserErrors !== false;
  if (warns) events.send({ type: "notice", ...base, kind: "still-working" });
  const agent = state.agent === undefined ? {} : { agent: state.agent };
  if (events.wants("iteration-start")) events.send({ type: "iteration-start", ...base, continuation, ...agent });
  if (masked !== undefined) events.send({ type: "masked", ...base, ...masked });
}

/** Emits each text of a replayed stream as one event, in the original order. */
function sendReplayed(run: Run, result: StreamResult, firstIndex: number): void {
  const base = eventBase(run, false);
  const { events } = run;
  for (const part of partsOf(result)) {
    if (part.type !== "call") {
      if (part.text !== "") events.send({ type: `${part.type}-delta`, ...base, text: part.text });
    } else if (events.wants("tool-args-end")) {
      for (const [at, { callId, name, args, problem }] of part.calls.entries()) {
        const index = firstIndex + part.from + at;
        events.send({ type: "tool-args-end", ...base, callId, name, index, args: freezeDeep(args), problem });
      }
    }
  }
}

function sendLoop(run: Run): void {
  const { loopRule } = run.bounds;
  const loop = findLoop(run.state, loopRule);
  if (loop === undefined || loopRule === undefined) return;
  run.events.send({ type: "loop-detected", ...eventBase(run, !run.isIterationReplayed), ...loop, action: loopRule.action });
}

/**
 * Emits `iteration-end` after the calls of the iteration. The event of a replayed stream is marked as replayed even if the calls
 * ran in this execution, because usage and cost come from the recorded stream.
 */
export function endIteration(run: Run, isPaused: boolean): void {
  const { events, openIteration } = run;
  run.openIteration = undefined;
  if (openIteration === undefined || !events.wants("iteration-end")) return;
  const { status, provider, model, finish, usage, costUSD, durationMs } = openIteration.result;
  const { continuation, live } = openIteration;
  events.send({
    type: "iteration-end",
    ...eventBase(run, live),
    continuation,
    status,
    provider,
    model,
    finish,
    usage,
    costUSD,
    calls: isPaused ? [] : summarize(run, openIteration),
    durationMs,
  });
}

function summarize({ state, ports }: Run, { earlier, result }: OpenIteration): readonly CallSummary[] {
  const unended = suspensionOf(state) === undefined ? "not-run" : "waiting";
  return [...earlier, ...result.calls].map(({ callId, name }, index) => {
    const ended = ports.ended.get(callId) ?? unended;
    return { callId, name, index, outcome: ended === "deferred" ? "waiting" : ended };
  });
}
