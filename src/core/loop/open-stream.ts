// Opens one model stream: builds the request, and starts the calls of eager tools while the model is still streaming.

import type { IterationPlan, LoopOptions } from "../types/loop-options.ts";
import type { PlainError } from "../types/common.ts";
import type { ModelRequest, Provider, StreamResult, ToolChoice } from "../types/provider.ts";
import type { ToolCall, ToolOutcome } from "../types/tool-outcome.ts";
import type { Ending } from "../types/termination.ts";
import { isForced } from "../providers/forced-choice.ts";
import type { Judgement } from "../providers/judge-finish.ts";
import { freezeDeep } from "../utils/json.ts";
import { toPlainError } from "../utils/plain-error.ts";
import { whenReady } from "../utils/promises.ts";
import { endingOfReason } from "../cancellation/cancel-scope.ts";
import { checkPlan } from "./start/check-options.ts";
import { askHook } from "./run/ask-hook.ts";
import { type ReadyCall, type RequestViews, type VisibleTools, type Run, toBatchCall } from "./run/run.ts";
import { askStopConditions } from "./stream/stop-conditions.ts";
import type { EagerPorts } from "./stream/eager-calls.ts";
import { findSpent } from "./run/pricing.ts";
import { streamOnce } from "./stream/stream-once.ts";
import { SharedViews, addBasis, expose, withMessages } from "./stream/visible-tools.ts";
import { performCall } from "./tool-call/execute-tool-call.ts";
import { prepareCall, prepareCalls } from "./tool-call/prepare-call.ts";
import { sendKnown } from "./tool-call/call-ports.ts";

export interface ModelStep {
  readonly withoutTools: boolean;
  /** The ending of the run after the final answer. Set only if the request asks for a final answer. */
  readonly finalAnswerTo?: Ending | undefined;
}

type Plan = IterationPlan &
  Pick<LoopOptions, "provider"> & {
    /** The choice that the loop enforces, if the request has a weaker one. */
    readonly enforced?: ToolChoice | undefined;
  };

interface FailedPlan {
  readonly failed: StreamResult;
}

/**
 * Plans the next request. Returns `FailedPlan` if a hook fails or if the run ends while a hook runs, so that the iteration ends
 * without a stream.
 */
export function planRequest(run: Run): Plan | FailedPlan | Promise<Plan | FailedPlan> {
  const own = planOf(run);
  return "failed" in own || run.options.hooks?.prepareIteration === undefined ? own : askForPlan(run, own);
}

function planOf(run: Run): Plan | FailedPlan {
  const { provider, system, modelSettings, toolChoice } = run.options;
  const own = { provider, system, modelSettings, toolChoice };
  const { handoffs } = run.features;
  if (handoffs === undefined) return relaxChoice(run, own);
  try {
    return relaxChoice(run, merge(own, handoffs.planFor(run)));
  } catch (error) {
    return { failed: failed(run, "handoffs", toPlainError(error)) };
  }
}

async function askForPlan(run: Run, own: Plan): Promise<Plan | FailedPlan> {
  const { options, state } = run;
  const exposed = exposeSafely(run, own);
  if ("failed" in exposed) return exposed;
  const { system, modelSettings, toolChoice } = own;
  const view = {
    iteration: state.iteration,
    messages: requestViewsOf(run).sent(),
    tools: exposed.tools,
    system,
    modelSettings,
    toolChoice,
    usage: freezeDeep(state.usage),
  };
  const answer = await askHook(() => options.hooks?.prepareIteration?.(view), toPlan, run);
  if (answer.kind === "value") return merge(own, answer.value);
  if (answer.kind === "cancelled") return { failed: unstreamed(run, endingOfReason(answer.cause)) };
  return { failed: failed(run, "prepareIteration", answer.error) };
}

/**
 * A choice that forces calls is sent until the model has made one: a model that must call a tool in each iteration can never
 * answer. With a stop condition, the caller decides how the run ends, so the choice stays. The loop still blocks other tools.
 */
function relaxChoice(run: Run, plan: Plan): Plan {
  const { toolChoice } = plan;
  return isForced(toolChoice) && run.stopConditions.length === 0 && hasCalled(run)
    ? { ...plan, toolChoice: "auto", enforced: toolChoice }
    : plan;
}

/** True if the current agent of this run has results of calls. The call of its handoff belongs to the agent before. */
function hasCalled({ state: { messages, givenMessages, handoffs } }: Run): boolean {
  const { callId: handoff, messagesBefore = 0 } = handoffs.at(-1) ?? {};
  const own = messages.slice(Math.max(givenMessages, messagesBefore));
  return own.some((message) => message.role === "tool" && message.results.every(({ callId }) => callId !== handoff));
}

/** Keeps only the tools that both plans allow. */
function merge(own: Plan, plan: IterationPlan): Plan {
  const { provider = own.provider, system = own.system, modelSettings = own.modelSettings, toolChoice = own.toolChoice } = plan;
  const tools = plan.tools?.filter((name) => own.tools?.includes(name) !== false) ?? own.tools;
  return {
    provider,
    system,
    modelSettings,
    toolChoice,
    tools,
    enforced: plan.toolChoice === undefined ? own.enforced : undefined,
  };
}

/** If the registry throws, returns a failed stream, so that the run still ends with a result. */
function exposeSafely(run: Run, plan: Plan): Pick<VisibleTools, "tools"> | FailedPlan {
  try {
    return expose(run, plan.provider, { ...plan, toolChoice: plan.enforced ?? plan.toolChoice });
  } catch (error) {
    return { failed: failed(run, "definitions", toPlainError(error)) };
  }
}

function toPlan(answer: unknown): IterationPlan {
  const plan: unknown = answer === undefined || answer === null ? {} : answer;
  checkPlan(plan);
  const { provider, modelSettings, tools, toolChoice, system } = plan;
  return { provider, modelSettings, tools, toolChoice, system };
}

/** Streams the message, checks it, and prepares its calls. The calls of a final answer are not prepared, because they do not run. */
export async function openStream(run: Run, next: ModelStep, plan: Plan | FailedPlan): Promise<StreamResult> {
  if ("failed" in plan) return plan.failed;
  const request = buildRequest(run, next, plan);
  if ("failed" in request) return request.failed;
  const { options, state, clock, timeouts, scope, alarm, events, guard } = run;
  const { current } = state;
  const isFinal = next.finalAnswerTo !== undefined;
  const streamed = await streamOnce(request, {
    provider: guard === undefined ? plan.provider : guard.wrap(plan.provider),
    clock,
    timeouts,
    scope,
    alarm,
    events,
    heldIds: state.heldIds,
    places: run.ports.places,
    carried: state.continuation === 0 ? undefined : { text: current.text.trim() !== "", callCount: current.calls.length },
    pricing: options.pricing,
    eager: next.withoutTools ? undefined : createEagerPorts(run),
    findSpent: (spent) => findSpent(run, spent, isFinal),
    cacheWatcher: run.cacheWatcher,
  });
  const judged = guard === undefined ? streamed : guard.judge(streamed);
  // A final answer is requested only after a limit was reached, so the stop conditions no longer apply.
  const asks = run.stopConditions.length > 0 && !isFinal;
  const result = addBasis(run, asks ? await askStopConditions(run, judged) : judged);
  return isFinal ? result : prepareCalls(run, result);
}

function buildRequest(run: Run, next: ModelStep, plan: Plan): ModelRequest | FailedPlan {
  const exposed = exposeSafely(run, plan);
  if ("failed" in exposed) return exposed;
  const { state } = run;
  const { provider, modelSettings, toolChoice, enforced = toolChoice } = plan;
  run.toolChoice = toRestriction(enforced);
  const { system, output } = describeOutput(run, provider, plan.system);
  return withMessages({
    system,
    output,
    tools: exposed.tools,
    toolChoice: next.withoutTools ? "none" : toolChoice,
    settings: modelSettings,
    iteration: state.iteration,
    compactAt: findCompactAt(run, provider),
    continuationToken: state.continuation === 0 ? undefined : state.streamResults.at(-1)?.token,
    transcript: requestViewsOf(run),
  });
}

/**
 * Returns the number of tokens at which the service itself summarizes messages. Returns undefined if the caller's function
 * `contextWindow` throws.
 */
function findCompactAt({ features: { compaction }, events, state }: Run, provider: Provider): number | undefined {
  let found: number | undefined;
  const at = { type: "compaction.contextWindow", iteration: state.iteration };
  if (compaction !== undefined) events.guard(at, () => void (found = compaction.thresholdFor(provider)));
  return found;
}

/**
 * Returns the part of `toolChoice` that the loop itself enforces. Servers and models may ignore `toolChoice`. The choice "none"
 * of `withoutTools` needs no enforcement, because no call of the response can run. Either `maxToolCalls` is used up and the calls
 * get the outcome "limit", or the response is a final answer, whose calls never run.
 */
function toRestriction(choice: ToolChoice | undefined): Run["toolChoice"] {
  if (typeof choice === "object") return { name: choice.name };
  return choice === "none" ? choice : undefined;
}

/** If the provider cannot send the schema of the answer, the system text contains the schema. */
function describeOutput(
  { features: { output } }: Run,
  { structuresOutput }: Provider,
  system: string | undefined,
): Pick<ModelRequest, "system" | "output"> {
  if (output === undefined) return { system };
  if (structuresOutput === true && output.requested !== undefined) return { system, output: output.requested };
  return { system: system === undefined ? output.prompt : `${system}\n\n${output.prompt}` };
}

function requestViewsOf(run: Run): RequestViews {
  run.requestViews ??= new SharedViews(run);
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
  return { ...judgement, ...nothing, provider: id, model, family };
}

/** Returns undefined if an approval, a stop rule or `maxToolCalls` may still prevent calls of the message. */
function createEagerPorts(run: Run): EagerPorts | undefined {
  const { policies } = run.options;
  if (!run.visibleTools.hasEager) return undefined;
  if (run.stopConditions.length > 0 || run.features.loopDetection?.action === "stop") return undefined;
  if (policies?.approve !== undefined || run.meter.maxToolCalls !== Number.POSITIVE_INFINITY) return undefined;
  let running = 0;
  const start = (call: ToolCall): ReturnType<EagerPorts["start"]> => {
    if (running >= run.bounds.toolConcurrency || !isEager(run, call)) return undefined;
    running += 1;
    const outcome = whenReady(prepareCall(call, run.ports), (prepared) => begin(run, prepared));
    return whenReady(outcome, (end) => {
      running -= 1;
      return end;
    });
  };
  return { start, onAdopted: (outcome: ToolOutcome): void => sendKnown(run, outcome, true) };
}

function isEager({ visibleTools, registry }: Run, { name }: ToolCall): boolean {
  const { eager, needsApproval = false } = visibleTools.byName.get(name) ?? {};
  return eager === true && needsApproval === false && registry.agentOf?.(name) === undefined;
}

/** Returns undefined if the call must not run yet. The call is then handled after the message has ended. */
function begin(run: Run, prepared: ReadyCall | ToolOutcome): ReturnType<EagerPorts["start"]> {
  const { scope, control } = run;
  if (prepared.kind !== "ready" || scope.cause !== undefined) return undefined;
  control?.startToolChain();
  return performCall(run, { ...toBatchCall(prepared.call, 0), ready: prepared });
}
