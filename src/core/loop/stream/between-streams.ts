// Calls code of the caller between two streams: stop conditions after a stream, `onIteration` after the tool calls, and the
// compaction before the next request.

import { assertNever, isRecord } from "../../utils/guards.ts";
import { textOrNone } from "../../utils/plain-error.ts";
import { freezeDeep } from "../../utils/json.ts";
import { applyStep } from "../state/apply-step.ts";
import { endingOfReason } from "../../cancellation/cancel-scope.ts";
import type { HookAnswer } from "../state/step-result.ts";
import { askAfterStream, askHook } from "../run/ask-hook.ts";
import { eventBase, type Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";
import { stepKey } from "../state/step-key.ts";
import type { CompactionAnswer, StopContext } from "../../types/policies.ts";
import type { GuardrailRecord } from "../../types/guardrails.ts";
import type { Step } from "../../types/journal.ts";
import type { StreamResult } from "../../types/provider.ts";
import { describeValue } from "../../utils/texts.ts";
import { addCost, addUsage, noUsage } from "../../utils/count-usage.ts";
import { checkCompaction, joinMessage } from "../state/transcript.ts";
import { isUnfinished } from "../../providers/judge-finish.ts";

export function askIteration(run: Run): void | PromiseLike<void> {
  const { state, options } = run;
  const finished = state.iteration + 1;
  const facts = {
    iteration: finished,
    cumulativeCost: state.costUSD,
    messageCount: state.messages.length,
    lastToolCalls: state.lastBatch.map(({ outcome }) => freezeDeep(outcome.call)),
  };
  const body = async (): Promise<HookAnswer> => {
    const end = await askHook(() => options.hooks?.onIteration?.(finished, facts), toIterationAnswer, run);
    if (end.kind === "cancelled") return { kind: "continue" };
    return end.kind === "failed" ? { kind: "failed", error: end.error } : end.value;
  };
  const step = { key: stepKey(state, "iteration"), kind: "hook" as const, input: null, run: body };
  return runStep(step, run, (answer) => applyStep(state, { kind: "hook", answer }));
}

function toIterationAnswer(answer: unknown): HookAnswer {
  if (!isRecord(answer) || answer.abort !== true) return { kind: "continue" };
  return { kind: "abort", reason: textOrNone(answer.reason) };
}

/**
 * Calls the stop conditions one after another, until one of them stops the run. Skips streams that failed or ended early, and
 * streams that will be continued.
 */
export async function askStopConditions(run: Run, result: StreamResult): Promise<StreamResult> {
  const { status } = result;
  const isOver = status === "tool-calls" || (status === "completed" && !isUnfinished(result));
  if (!isOver) return result;
  const context = toContext(run, result);
  for (const condition of run.stopConditions) {
    const end = await askAfterStream(() => condition(context), toStop, run);
    switch (end.kind) {
      case "value":
        if (end.value !== undefined) return { ...result, stop: end.value };
        break;
      case "failed":
        return { ...result, status: "error", reason: { kind: "hook-failed", hook: "stopWhen", error: end.error } };
      case "cancelled":
        // The run was cancelled before all conditions were called. The ending of the cancellation is recorded with the stream,
        // so that the tool calls do not run even if the run is resumed.
        return status === "completed" ? result : { ...result, ...endingOfReason(end.cause) };
      default:
        return assertNever(end);
    }
  }
  return result;
}

function toContext({ state }: Run, result: StreamResult): StopContext {
  const context: StopContext = {
    iteration: state.iteration + 1,
    response: freezeDeep(state.continuation === 0 ? result : { ...result, ...joinMessage(state.current, result) }),
    totalUsage: addUsage(state.usage, result.usage ?? noUsage),
    costUSD: addCost(state.costUSD, result.costUSD),
    toolCallsExecuted: state.toolCallsExecuted,
    lastToolResults: state.lastBatch.map(({ outcome }) => freezeDeep(outcome)),
  };
  return Object.defineProperty(context, "steps", { get: refuseSteps });
}

/**
 * Throws a clear error for stop conditions of the AI SDK, such as `stepCountIs`, which read `steps`. Without this function, such
 * a condition would fail with an error that only mentions `undefined`.
 */
function refuseSteps(): never {
  throw new TypeError(
    'The stop condition uses "steps", which only the AI SDK has. Use iterationCountIs or hasToolCall from "turnwright", or your own function.',
  );
}

/** Throws for an invalid value. Otherwise the caller might not notice that the condition never stops the run. */
function toStop(answer: unknown): StreamResult["stop"] {
  if (answer === true) return {};
  if (answer === false) return undefined;
  const { kind, reason } = isRecord(answer) ? answer : {};
  if (kind === "continue") return undefined;
  if (kind === "stop") return typeof reason === "string" ? { reason } : {};
  const expected = 'true, false, { kind: "continue" } or { kind: "stop" }';
  throw new TypeError(`A stop condition must return ${expected}, but returned ${describeValue(answer)}.`);
}

/** The answer if a compaction is due, but the caller resumed the run without `policies.compaction`. */
const withoutPolicy: CompactionAnswer = {
  kind: "failed",
  tokensBefore: 0,
  tokensAfter: 0,
  error: { name: "Error", message: "The run has no policies.compaction any more." },
};

export function compactRun(run: Run): void | PromiseLike<void> {
  const { state, events, features, meter } = run;
  const cause = state.lastInbox?.compact ?? "due";
  const start = (live: boolean): void => events.send({ type: "compaction-start", ...eventBase(run, live), cause });
  const step: Step<CompactionAnswer> = {
    key: stepKey(state, "compaction"),
    kind: "model",
    input: null,
    run: async () => {
      start(true);
      const answer = (await features.compaction?.compact(run)) ?? withoutPolicy;
      return answer.kind === "failed" && run.scope.cause !== undefined ? { ...answer, cancelled: true } : answer;
    },
  };
  return runStep(step, run, (answer, live) => {
    if (!live) start(false);
    if (answer.kind === "compacted") checkCompaction(answer.compaction, state.messages, step.key);
    const { kind: outcome, tokensBefore, tokensAfter, spending } = answer;
    const { provider, model, usage, costUSD } = spending ?? {};
    if (spending !== undefined) meter.addUsage(spending);
    applyStep(state, { kind: "compaction", answer });
    const error = answer.kind === "failed" ? { error: answer.error } : {};
    const end = { outcome, tokensBefore, tokensAfter, provider, model, usage, costUSD, ...error };
    events.send({ type: "compaction-end", ...eventBase(run, live), ...end });
  });
}

export function noteGuardrails(
  run: Run,
  records: readonly GuardrailRecord[] | undefined,
  { stage, live }: { readonly stage: "input" | "output"; readonly live: boolean },
): void {
  for (const record of records ?? []) {
    const { spent } = record;
    if (spent !== undefined) run.meter.addUsage(spent);
    run.events.send({ type: "guardrail", ...eventBase(run, live), stage, ...record });
  }
}

/** Emits only the changes that the run has not reported yet, because most changes are the same in each request. */
export function noteAdjustments(run: Run, adjustments: StreamResult["adjustments"], live: boolean): void {
  for (const { provider, model, changes } of adjustments ?? []) {
    const untold = changes.filter(({ field, action, reason }) => {
      const key = JSON.stringify([provider, model, field, action, reason]);
      if (run.toldChanges.has(key)) return false;
      run.toldChanges.add(key);
      return true;
    });
    if (untold.length > 0)
      run.events.send({ type: "request-adjusted", ...eventBase(run, live), provider, model, changes: untold });
  }
}

/**
 * In a replay, passes the recorded requests to the watcher, so that the watcher can compare the following request with the
 * recorded requests.
 */
export function noteCache(run: Run, cache: StreamResult["cache"], live: boolean): void {
  if (cache === undefined) return;
  if (!live) run.cacheWatcher?.replay(cache);
  for (const { break: found } of cache.requests)
    if (found !== undefined) run.events.send({ type: "cache-break", ...eventBase(run, live), ...found });
}
