// Performs one model request: builds the request, emits the events of its stream, and updates the state.

import type { IterationPlan, LoopOptions } from "../types/loop-options.ts";
import type { CallSummary } from "../types/loop-event.ts";
import type { PlainError } from "../types/common.ts";
import type { Step } from "../types/journal.ts";
import type { ModelRequest, Provider, StreamResult, ToolChoice } from "../types/provider.ts";
import type { Ending } from "../types/termination.ts";
import type { Judgement } from "../providers/judge-finish.ts";
import { freezeDeep } from "../utils/json.ts";
import { textOf, textOrNone, toPlainError } from "../utils/plain-error.ts";
import { findLoop } from "./state/apply-call.ts";
import type { Masked, ResultMasking } from "./run/features.ts";
import { partsOf } from "./stream/call-drafts.ts";
import { streamOnce } from "./stream/stream-once.ts";
import { applyStep } from "./state/apply-step.ts";
import { endingOfReason } from "../cancellation/cancel-scope.ts";
import { askHook } from "./run/ask-hook.ts";
import { askStopConditions } from "./stream/between-streams.ts";
import { checkPlan } from "./start/check-options.ts";
import { prepareCalls } from "./tool-call/prepare-call.ts";
import { createRequestViews, expose, exposeRecorded, needsBasis, withBasis, withMessages } from "./stream/visible-tools.ts";
import { findSpent } from "./stream/eager-calls.ts";
import { createEagerPorts } from "./eager-start.ts";
import type { OpenIteration, RequestViews, VisibleTools } from "./run/request.ts";
import { eventBase, noteCache, type Run } from "./run/run.ts";
import { replayCall, toSpending } from "./tool-call/replay-call.ts";
import { readProvider } from "./start/start-run.ts";
import { runStep } from "./run/run-step.ts";
import { suspensionOf } from "./state/loop-state.ts";
import { streamKey } from "./state/step-key.ts";

interface ModelStep {
  readonly withoutTools: boolean;
  /** The ending of the run after a final answer. Set if this request is only for a final answer. */
  readonly finalAnswerTo?: Ending | undefined;
}

export function runIteration(run: Run, next: ModelStep): void | PromiseLike<void> {
  const { state } = run;
  const { continuation } = state;
  // The request for a final answer has its own key. If the run is resumed with higher limits, a normal request takes its place.
  const key = streamKey(state, next.finalAnswerTo === undefined ? "model" : "final-answer");
  const masked = maskOld(run);
  const earlier = continuation === 0 ? [] : state.current.calls;
  if (continuation === 0) run.ports.ended.clear();
  run.isIterationReplayed = true;
  run.prepared = undefined;
  const step: Step<StreamResult> = {
    key,
    kind: "model",
    input: null,
    run: () => {
      sendStart(run, masked);
      const isPlanned = run.options.hooks?.prepareIteration !== undefined;
      const streamed = isPlanned ? planIteration(run, next) : streamIteration(run, next, {});
      return streamed.then((result) => (next.finalAnswerTo === undefined ? prepareCalls(run, result) : result));
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
    noteCache(run, result.cache, live);
    const { usage, costUSD } = result;
    run.meter.add({ tokens: usage?.totalTokens, costUSD, costUnknown: costUSD === undefined });
    applyStep(state, { kind: "model", result, finalAnswerTo: next.finalAnswerTo });
    if (!live) replayEarly(run, result);
    run.openIteration = { result, continuation, earlier, live };
    sendLoop(run);
  });
}

/** Replays the calls that ran while the model streamed. Also counts the cost of calls that ran during discarded attempts. */
function replayEarly(run: Run, { eagerOutcomes = [], eagerSpent = [] }: StreamResult): void {
  for (const outcome of eagerOutcomes) replayCall(run, outcome);
  for (const spent of eagerSpent) run.meter.add(toSpending(spent));
}

/** Calls `prepareIteration`. If the hook fails or the run ends meanwhile, the iteration ends without a stream. */
async function planIteration(run: Run, next: ModelStep): Promise<StreamResult> {
  const { options, state } = run;
  const exposed = exposeSafely(run, options);
  if ("failed" in exposed) return exposed.failed;
  const view = {
    iteration: state.iteration,
    messages: requestViewsOf(run).sent(),
    tools: exposed.tools,
    system: options.system,
    modelSettings: options.modelSettings,
    toolChoice: options.toolChoice,
    usage: freezeDeep(state.usage),
  };
  const answer = await askHook(() => options.hooks?.prepareIteration?.(view), toPlan, run);
  if (answer.kind === "value") return streamIteration(run, next, answer.value);
  if (answer.kind === "cancelled") return unstreamed(run, endingOfReason(answer.cause));
  return failed(run, "prepareIteration", answer.error);
}

/**
 * Returns the visible tools. If the registry throws, returns a failed stream result, so that the run still ends with a result.
 */
function exposeSafely(
  run: Run,
  { provider, toolChoice }: Pick<LoopOptions, "provider" | "toolChoice">,
  tools?: IterationPlan["tools"],
): Pick<VisibleTools, "tools"> | { readonly failed: StreamResult } {
  try {
    return expose(run, provider, { tools, toolChoice });
  } catch (error) {
    return { failed: failed(run, "definitions", toPlainError(error)) };
  }
}

/** Checks the object from `prepareIteration` like an option of the run. Throws if it is not a valid plan. */
function toPlan(answer: unknown): IterationPlan {
  const plan: unknown = answer === undefined || answer === null ? {} : answer;
  checkPlan(plan);
  const { provider, modelSettings, tools, toolChoice, system } = plan;
  return { provider: provider === undefined ? undefined : readProvider(provider), modelSettings, tools, toolChoice, system };
}

function streamIteration(run: Run, next: ModelStep, plan: IterationPlan): Promise<StreamResult> {
  const { options, state, clock, timeouts, scope, alarm, events } = run;
  const { current } = state;
  const { provider = options.provider, toolChoice = options.toolChoice } = plan;
  const exposed = exposeSafely(run, { provider, toolChoice }, plan.tools);
  if ("failed" in exposed) return Promise.resolve(exposed.failed);
  run.toolChoice = toRestriction(toolChoice);
  const request = withMessages({
    ...describeOutput(run, provider, plan.system ?? options.system),
    tools: exposed.tools,
    toolChoice: next.withoutTools ? "none" : toolChoice,
    settings: plan.modelSettings ?? options.modelSettings,
    iteration: state.iteration,
    compactAt: findCompactAt(run, provider),
    continuationToken: state.continuation === 0 ? undefined : state.streamResults.at(-1)?.token,
    transcript: requestViewsOf(run),
  });
  const carried = state.continuation === 0 ? undefined : { text: current.text.trim() !== "", callCount: current.calls.length };
  const streamed = streamOnce(request, {
    provider,
    clock,
    timeouts,
    scope,
    alarm,
    events,
    heldIds: state.heldIds,
    places: run.ports.places,
    carried,
    pricing: options.pricing,
    eager: next.withoutTools ? undefined : createEagerPorts(run),
    findSpent: (spent) => findSpent(run, spent),
    cacheWatcher: run.cacheWatcher,
  });
  // A final answer is requested only after a limit was reached, so the stop conditions no longer apply.
  const asks = run.stopConditions.length > 0 && next.finalAnswerTo === undefined;
  const asked = asks ? streamed.then((result) => askStopConditions(run, result)) : streamed;
  return withTerms(run, asked);
}

/** Returns the tokens at which the service itself is to summarize old messages. `contextWindow` of the caller may throw. */
function findCompactAt({ features: { compaction }, events, state }: Run, provider: Provider): number | undefined {
  let found: number | undefined;
  const at = { type: "compaction.contextWindow", iteration: state.iteration };
  if (compaction !== undefined) events.guard(at, () => void (found = compaction.thresholdFor(provider)));
  return found;
}

function withTerms(run: Run, streamed: Promise<StreamResult>): Promise<StreamResult> {
  const { toolChoice } = run;
  const restricted = toolChoice === undefined ? streamed : streamed.then((result) => ({ ...result, toolChoice }));
  return needsBasis(run) ? restricted.then((result) => withBasis(run, result)) : restricted;
}

/**
 * Returns the part of `toolChoice` that the loop enforces, because servers and models may ignore it. A request without tools
 * needs no enforcement: its calls exceed `maxToolCalls` and end with the outcome "limit".
 */
function toRestriction(choice: ToolChoice | undefined): Run["toolChoice"] {
  if (typeof choice === "object") return { name: choice.name };
  return choice === "none" ? choice : undefined;
}

/** Returns the system text and the schema of the answer. The schema is part of the system text if the provider cannot send it. */
function describeOutput(
  { features: { output } }: Run,
  { structuresOutput }: Provider,
  system: string | undefined,
): Pick<ModelRequest, "system" | "output"> {
  if (output === undefined) return { system };
  if (structuresOutput === true && output.requested !== undefined) return { system, output: output.requested };
  return { system: system === undefined ? output.prompt : `${system}\n\n${output.prompt}` };
}

function maskOld(run: Run): Masked | undefined {
  if (run.view === undefined && run.state.releases.length > 0) run.view = findMasking(run)?.createView();
  return run.view?.update(run.state);
}

/**
 * Returns the masking of a tool that releases results. Searches the tools that the model saw, because the registry may have
 * changed since then.
 */
function findMasking({ visibleTools }: Run): ResultMasking | undefined {
  return visibleTools.registered.find(({ masking }) => masking !== undefined)?.masking as ResultMasking | undefined;
}

function requestViewsOf(run: Run): RequestViews {
  run.requestViews ??= createRequestViews(run);
  return run.requestViews;
}

function failed(run: Run, hook: string, error: PlainError): StreamResult {
  return unstreamed(run, { status: "error", reason: { kind: "hook-failed", hook, error } });
}

function unstreamed(run: Run, judgement: Judgement): StreamResult {
  const { id, model, family } = run.options.provider;
  const nothing = {
    text: "",
    reasoning: "",
    details: "",
    calls: [],
    providerMetadata: [],
    visibleTools: [],
    costUSD: 0,
    durationMs: 0,
  };
  return { ...judgement, ...nothing, provider: textOf(id), model: textOf(model), family: textOrNone(family) };
}

function sendStart(run: Run, masked: Masked | undefined): void {
  const { events, state } = run;
  const { iteration, continuation } = state;
  const base = eventBase(run, !run.isIterationReplayed);
  const warns = iteration === run.bounds.softWarnIteration && continuation === 0 && run.session.surfaceUserErrors !== false;
  if (warns) events.send({ type: "notice", ...base, kind: "still-working" });
  if (events.wants("iteration-start")) events.send({ type: "iteration-start", ...base, continuation });
  if (masked !== undefined) events.send({ type: "masked", ...base, ...masked });
}

/** Emits the parts of a replayed stream in their original order. Each text is one event. */
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
 * Emits `iteration-end` after the calls of the iteration. The event is marked as replayed if the stream was replayed, even if the
 * calls ran in this execution, because usage and cost come from the recorded stream.
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
