// Runs the caller's functions that inspect a run between its iterations or change the next request.

import type { IterationPlan, OnIteration, PrepareIteration } from "../types/loop-options.ts";
import type { StopCondition, StopContext } from "../types/middleware-options.ts";
import type { Provider } from "../types/provider.ts";
import { checkField, checkFields, is, isFunction, needed } from "../../shared/errors/check-fields.ts";
import { planChecks } from "../loop/option-table.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import { addCost, addUsage, noUsage } from "../../shared/count-usage.ts";
import { edges } from "../../shared/edges.ts";
import { freezeDeep } from "../../shared/json.ts";
import { isRecord } from "../../shared/guards.ts";
import { describeValue } from "../../shared/texts.ts";
import { textOrNone } from "../../shared/plain-error.ts";
import { isStepCancelled } from "../loop/seam.ts";
import type { Answer, Middleware, Recorder, RequestDraft, RunFacts, State } from "../types/middleware.ts";
import { askCaller } from "../../shared/ask-caller.ts";
import { type ProviderFacts, toProviderFacts } from "../../shared/wrap-provider.ts";

/**
 * Calls `ask` after the calls in each iteration, with the number of finished iterations. `{ abort: true }` ends the run as
 * `iteration-abort`. If `ask` throws or takes longer than `timeouts.callbackMs`, the run ends as `hook-failed`.
 *
 * Throws LoopError "invalid-option" if `ask` is not a function.
 *
 * @example onIteration((finished, { cumulativeCost }) => ({ abort: (cumulativeCost ?? 0) > 1 }))
 */
export function onIteration(ask: OnIteration): Middleware {
  checkField("onIteration", ask, needed(is.fn));
  return {
    name: "on-iteration",
    begin: (run) => ({
      async afterCalls(planned, at) {
        if (planned !== undefined && endedByCalls.has(planned.reason.kind)) return undefined;
        const { lastBatch, costUSD, messages, iteration } = at.state;
        const finished = iteration + 1;
        const lastToolCalls = lastBatch.map(({ call }) => freezeDeep(call));
        const facts = { iteration: finished, cumulativeCost: costUSD, messageCount: messages.length, lastToolCalls };
        const said = await at.step("said", async () => {
          const answer: unknown = await askCaller(() => ask(finished, facts), limitsOf(run, at));
          return isRecord(answer) && answer["abort"] === true ? { reason: textOrNone(answer["reason"]) } : null;
        });
        if (said === null) return undefined;
        return { status: "stopped-by-user", reason: { kind: "iteration-abort", reason: said.reason } };
      },
    }),
  };
}

/** The end reasons that the calls themselves cause. */
const endedByCalls: ReadonlySet<string> = new Set([
  "fatal-tool-error",
  "tool-guardrail",
  "loop-detected",
  "restart-cap",
  "handoff-cap",
]);

function limitsOf({ clock, timeouts }: RunFacts, { signal }: Recorder): Parameters<typeof askCaller>[1] {
  return { clock, ms: timeouts.callbackMs, signal };
}

/**
 * Calls `plan` before each request, including continuations. The plan may choose a different provider, tools, settings or system text
 * for this request. If `plan` throws or takes longer than `timeouts.callbackMs`, the run ends as `hook-failed`.
 *
 * Throws LoopError "invalid-option" if `plan` is not a function.
 *
 * @example prepareIteration(({ iteration }) => (iteration === 0 ? { toolChoice: { name: "search" } } : undefined))
 */
export function prepareIteration(plan: PrepareIteration): Middleware {
  checkField("prepareIteration", plan, needed(is.fn));
  return {
    name: "prepare-iteration",
    // Runs after `handoffs`, because the plan may name only the current agent's tools.
    after: ["handoffs"],
    begin: (run) => ({
      async request(request, next, at) {
        const { messages, tools, system, settings: modelSettings, toolChoice } = request;
        const { iteration, usage } = at.state;
        const view = { iteration, messages, tools, system, modelSettings, toolChoice, usage: freezeDeep(usage) };
        let chosen: Provider | undefined;
        const ask = async (): Promise<Omit<IterationPlan, "provider">> => {
          const answer: unknown = (await askCaller(() => plan(view), limitsOf(run, at))) ?? {};
          checkFields("prepareIteration", answer, planChecks);
          const { provider, ...rest } = answer as IterationPlan;
          chosen = provider;
          return rest;
        };
        const recorded = await at.step("plan", async () => {
          const rest = await ask();
          return chosen === undefined ? rest : { ...rest, traits: toProviderFacts(chosen) };
        });
        if (!("traits" in recorded)) return next(applyPlan(request, recorded, request.provider));
        const findChosen = async (): Promise<Provider | undefined> => (await ask(), chosen);
        return next(applyPlan(request, recorded, chosen ?? recall(recorded.traits, findChosen)));
      },
    }),
  };
}

/**
 * Returns a provider that calls `ask` when it opens a stream. A provider cannot be recorded, so an execution that repeats a planned request
 * calls `ask` again.
 */
function recall(traits: ProviderFacts, ask: () => Promise<Provider | undefined>): Provider {
  return {
    ...traits,
    async *stream(request, call) {
      const provider = await ask();
      if (provider === undefined)
        throw new Error(
          `prepareIteration chose the model "${traits.model}" last time. Return the same provider when called again.`,
        );
      yield* provider.stream(request, call);
    },
  };
}

function applyPlan(request: RequestDraft, plan: Omit<IterationPlan, "provider">, provider: Provider): RequestDraft {
  const { system = request.system, modelSettings: settings = request.settings, toolChoice = request.toolChoice } = plan;
  const names = plan.tools === undefined ? undefined : new Set(plan.tools);
  const tools = names === undefined ? request.tools : request.tools.filter(({ name }) => names.has(name));
  const keepsChoice = plan.toolChoice === undefined ? request.keepsChoice : true;
  return { ...request, provider, system, settings, toolChoice, keepsChoice, tools };
}

/**
 * Ends the run as `stop-condition` after a response, so that its tool calls do not run. Several conditions are called in order,
 * until one of them stops the run. With a stop condition, a forced `toolChoice` forces a call in each iteration.
 *
 * Throws LoopError "invalid-option" if a condition is not a function.
 *
 * @example stopWhen([hasToolCall("submit"), tokenBudget(50_000)])
 */
export function stopWhen(condition: StopCondition | readonly StopCondition[]): Middleware {
  const conditions = [condition].flat();
  checkField("stopWhen", condition, ["a function, or an array of functions", () => conditions.every(isFunction)]);
  return {
    name: "stop-when",
    begin: (run) => ({
      async request(request, next, at) {
        const answer = await next({ ...request, keepsChoice: true });
        const { status } = answer;
        const isOver = status === "tool-calls" || (status === "completed" && !isUnfinished(answer));
        if (!isOver || answer.ends !== undefined) return answer;
        const asked = at.step("stop", () => askConditions(conditions, toContext(at, answer), limitsOf(run, at)));
        const said = await asked.catch((error: unknown) => {
          // The time is up, but the answer is complete, so the run completes without checking the stop condition.
          if (status === "completed" && isStepCancelled(error) && error.ending.status === "timeout") return null;
          throw error;
        });
        return said === null
          ? answer
          : { ...answer, stop: said, ends: { status: "completed", reason: { kind: "stop-condition", ...said } } };
      },
    }),
  };
}

/** Combines an answer with the earlier streams of the same message. */
function joinCurrent({ continuation, current }: State, answer: Answer): Answer {
  if (continuation === 0) return answer;
  const { text, reasoning, calls } = answer;
  return { ...answer, text: current.text + text, reasoning: current.reasoning + reasoning, calls: [...current.calls, ...calls] };
}

type Stop = { readonly reason?: string };

async function askConditions(
  conditions: readonly StopCondition[],
  context: StopContext,
  limits: Parameters<typeof askCaller>[1],
): Promise<Stop | null> {
  for (const condition of conditions) {
    const stop = toStop(await askCaller(() => condition(context), limits));
    if (stop !== null) return stop;
  }
  return null;
}

function toContext({ state }: Recorder, answer: Answer): StopContext {
  const context: StopContext = {
    iteration: state.iteration + 1,
    response: freezeDeep(joinCurrent(state, answer)),
    totalUsage: addUsage(state.usage, answer.usage ?? noUsage),
    costUSD: addCost(state.costUSD, answer.costUSD),
    toolCallsExecuted: state.toolCallsExecuted,
    lastToolResults: state.lastBatch.map(({ outcome }) => freezeDeep(outcome)),
  };
  edges.refuseSteps?.(context);
  return context;
}

function toStop(answer: unknown): Stop | null {
  if (answer === true) return {};
  if (answer === false) return null;
  const { kind, reason } = isRecord(answer) ? answer : {};
  if (kind === "continue") return null;
  if (kind === "stop") return typeof reason === "string" ? { reason } : {};
  const expected = 'true, false, { kind: "continue" } or { kind: "stop" }';
  throw new TypeError(`A stop condition must return ${expected}, but returned ${describeValue(answer)}.`);
}
