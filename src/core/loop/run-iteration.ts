// One provider stream as a step: what is sent, what listeners hear, and the fold of what came back.

import type { IterationPlan } from "../types/loop-options.ts";
import type { CallSummary } from "../types/loop-event.ts";
import type { PlainError } from "../types/common.ts";
import type { ModelRequest, StreamResult, ToolChoice } from "../types/provider.ts";
import type { Ending } from "../types/termination.ts";
import type { Judgement } from "../providers/judge-finish.ts";
import { freezeDeep } from "../utils/json.ts";
import { textOf, textOrNone, toPlainError } from "../utils/plain-error.ts";
import { findLoop } from "./state/apply-call.ts";
import type { Masked, ResultMasking } from "./run/features.ts";
import { streamOnce } from "./stream/stream-once.ts";
import { applyStep } from "./state/apply-step.ts";
import { endingOfReason } from "../cancellation/cancel-scope.ts";
import { askHook } from "./run/ask-hook.ts";
import { askStopConditions } from "./stream/ask-stop.ts";
import { checkPlan } from "./start/check-options.ts";
import { prepareCalls } from "./tool-call/prepare-call.ts";
import { createRequestViews, expose, exposeRecorded, needsBasis, withBasis } from "./stream/visible-tools.ts";
import { findSpent } from "./stream/eager-calls.ts";
import { createEagerPorts } from "./eager-start.ts";
import type { OpenIteration, RequestViews } from "./run/request.ts";
import { eventBase, type Run } from "./run/run.ts";
import { replayCall, toSpending } from "./tool-call/replay-call.ts";
import { readProvider } from "./start/start-run.ts";
import { runStep } from "./run/run-step.ts";
import { suspensionOf } from "./state/loop-state.ts";
import { streamKey } from "./state/step-key.ts";

/** How the model is to be asked. */
interface ModelStep {
  /** Whether no tool may run any more. */
  readonly withoutTools: boolean;
  /** The ending before which the model gets a last word. */
  readonly finalAnswerTo?: Ending | undefined;
}

/** Streams the model once, or replays what it said. */
export function runIteration(run: Run, next: ModelStep): void | PromiseLike<void> {
  const { state } = run;
  const { continuation } = state;
  // A last word is asked for without tools: a run with higher limits asks another question in the same place.
  const key = streamKey(state, next.finalAnswerTo === undefined ? "model" : "final-answer");
  const masked = maskOld(run);
  const earlier = continuation === 0 ? [] : state.current.calls;
  if (continuation === 0) run.ports.ended.clear();
  run.replayed = true;
  run.prepared = undefined;
  const body = (): Promise<StreamResult> => {
    sendStart(run, masked);
    return streamIteration(run, next).then((result) => (next.finalAnswerTo === undefined ? prepareCalls(run, result) : result));
  };
  return runStep({ key, kind: "model", input: null, run: body }, run, (result, live) => {
    if (!live) {
      run.visibleTools = exposeRecorded(run, result);
      run.toolChoice = result.toolChoice;
      result.calls.forEach(({ callId }, index) => run.ports.places.set(callId, earlier.length + index));
      sendStart(run, masked);
      sendReplayed(run, result, earlier.length);
    }
    const { usage, costUSD } = result;
    run.meter.add({ tokens: usage?.totalTokens, costUSD, costUnknown: costUSD === undefined });
    applyStep(state, { kind: "model", result, finalAnswerTo: next.finalAnswerTo });
    if (!live) replayEarly(run, result);
    run.openIteration = { result, continuation, earlier, live };
    sendLoop(run);
  });
}

/** Calls that were started early in a replayed iteration, and the spending on those that the model did not ask for in the end. */
function replayEarly(run: Run, { eagerOutcomes = [], eagerSpent = [] }: StreamResult): void {
  for (const outcome of eagerOutcomes) replayCall(run, outcome);
  for (const spent of eagerSpent) run.meter.add(toSpending(spent));
}

function streamIteration(run: Run, next: ModelStep): Promise<StreamResult> {
  const { prepareIteration } = run.options.hooks ?? {};
  return unlessBroken(run, () => (prepareIteration === undefined ? streamPlanned(run, next, {}) : planIteration(run, next)));
}

/** A registry of the caller's own may throw when it is asked for its tools: then the iteration has failed, not the run. */
function unlessBroken(run: Run, stream: () => Promise<StreamResult>): Promise<StreamResult> {
  try {
    return stream();
  } catch (error) {
    return Promise.resolve(failed(run, "definitions", toPlainError(error)));
  }
}

/** Asks the hook what to change. One that fails, or a run that ends meanwhile, is an iteration without a stream. */
function planIteration(run: Run, next: ModelStep): Promise<StreamResult> {
  const { options, state } = run;
  const { tools } = expose(run);
  const view = {
    iteration: state.iteration,
    messages: requestViewsOf(run).sent(),
    tools,
    system: options.system,
    modelSettings: options.modelSettings,
    toolChoice: options.toolChoice,
    usage: freezeDeep(state.usage),
  };
  return askHook(() => options.hooks?.prepareIteration?.(view), toPlan, run).then((answer) => {
    // The registry is asked again, and may be broken by now.
    if (answer.kind === "value") return unlessBroken(run, () => streamPlanned(run, next, answer.value));
    if (answer.kind === "cancelled") return unstreamed(run, endingOfReason(answer.cause));
    return failed(run, "prepareIteration", answer.error);
  });
}

/** The answer of the hook is checked like an option: one that is not a plan fails the hook. */
function toPlan(answer: unknown): IterationPlan {
  const plan: unknown = answer === undefined || answer === null ? {} : answer;
  checkPlan(plan);
  const { provider, modelSettings, tools, toolChoice, system } = plan;
  return { provider: provider === undefined ? undefined : readProvider(provider), modelSettings, tools, toolChoice, system };
}

function streamPlanned(run: Run, next: ModelStep, plan: IterationPlan): Promise<StreamResult> {
  const { options, state, clock, timeouts, scope, alarm, events } = run;
  const { current } = state;
  const { tools } = expose(run, plan.tools);
  const toolChoice = plan.toolChoice ?? options.toolChoice;
  run.toolChoice = toRestriction(toolChoice);
  const views = requestViewsOf(run);
  const fields: Omit<ModelRequest, "messages"> = {
    system: systemOf(run, plan.system),
    tools,
    toolChoice: next.withoutTools ? "none" : toolChoice,
    settings: plan.modelSettings ?? options.modelSettings,
    iteration: state.iteration,
    continuationToken: state.continuation === 0 ? undefined : state.streamResults.at(-1)?.token,
    transcript: views.transcript,
  };
  const request = Object.defineProperty(fields, "messages", views.messages) as ModelRequest;
  const carried = state.continuation === 0 ? undefined : { text: current.text.trim() !== "", callCount: current.calls.length };
  const streamed = streamOnce(request, {
    provider: plan.provider ?? options.provider,
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
  });
  // After a limit has ended the run, a message ends nothing more.
  const asks = run.stopConditions.length > 0 && next.finalAnswerTo === undefined;
  const asked = asks ? streamed.then((result) => askStopConditions(run, result)) : streamed;
  return withTerms(run, asked);
}

/** Adds what a replay has to know of the calls. */
function withTerms(run: Run, streamed: Promise<StreamResult>): Promise<StreamResult> {
  const { toolChoice } = run;
  const restricted = toolChoice === undefined ? streamed : streamed.then((result) => ({ ...result, toolChoice }));
  return needsBasis(run) ? restricted.then((result) => withBasis(run, result)) : restricted;
}

/** The part of `toolChoice` that a server or a model may fail to obey. Past `maxToolCalls` calls end as "limit", so that is not part of it. */
function toRestriction(choice: ToolChoice | undefined): Run["toolChoice"] {
  if (typeof choice === "object") return { name: choice.name };
  return choice === "none" ? choice : undefined;
}

/** The caller's own text, or the hook's, and behind it what the answer has to look like. */
function systemOf({ options, features: { output } }: Run, planned?: string): string | undefined {
  const own = planned ?? options.system;
  if (output === undefined) return own;
  return own === undefined ? output.prompt : `${own}\n\n${output.prompt}`;
}

/** Brings the view that is sent up to date. It is there once something may be masked: by a policy, or because a tool released results. */
function maskOld(run: Run): Masked | undefined {
  if (run.view === undefined && run.state.releases.length > 0) run.view = findMasking(run)?.createView();
  return run.view?.update(run.state);
}

/** A tool that releases results brings the code that masks them. Looks at the tools as they were shown: a registry may have changed since. */
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

/** An iteration that ended before its stream began. */
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
  const base = eventBase(run, !run.replayed);
  const warns = iteration === run.bounds.softWarnIteration && continuation === 0 && run.session.surfaceUserErrors !== false;
  if (warns) events.send({ type: "notice", ...base, kind: "still-working" });
  if (events.wants("iteration-start")) events.send({ type: "iteration-start", ...base, continuation });
  if (masked !== undefined) events.send({ type: "masked", ...base, ...masked });
}

/** The text and reasoning of a replayed iteration, in one piece each. */
function sendReplayed(run: Run, { text, reasoning, calls }: StreamResult, firstIndex: number): void {
  const base = eventBase(run, false);
  const { events } = run;
  if (reasoning !== "") events.send({ type: "reasoning-delta", ...base, text: reasoning });
  if (text !== "") events.send({ type: "text-delta", ...base, text });
  if (!events.wants("tool-args-end")) return;
  for (const [index, { callId, name, args, problem }] of calls.entries())
    events.send({ type: "tool-args-end", ...base, callId, name, index: firstIndex + index, args: freezeDeep(args), problem });
}

function sendLoop(run: Run): void {
  const { loopRule } = run.bounds;
  const loop = findLoop(run.state, loopRule);
  if (loop === undefined || loopRule === undefined) return;
  run.events.send({ type: "loop-detected", ...eventBase(run, !run.replayed), ...loop, action: loopRule.action });
}

/**
 * Tells listeners that the iteration is over: after its batch, where it had one, for the calls belong to it. Recalled where its start was: what
 * it says of usage and cost was spent then, even if calls ran in this execution.
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
  return [...earlier, ...result.calls].map(({ callId, name }, index) => ({
    callId,
    name,
    index,
    outcome: ports.ended.get(callId) ?? unended,
  }));
}
