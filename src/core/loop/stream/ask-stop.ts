// Calls the functions of the caller after a stream or a batch: stop conditions and `onIteration`.

import { assertNever, isRecord } from "../../utils/guards.ts";
import { textOrNone } from "../../utils/plain-error.ts";
import { freezeDeep } from "../../utils/json.ts";
import { applyStep } from "../state/apply-step.ts";
import { endingOfReason } from "../../cancellation/cancel-scope.ts";
import type { HookAnswer } from "../state/loop-state.ts";
import { askAfterStream, askHook } from "../run/ask-hook.ts";
import type { Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";
import { stepKey } from "../state/step-key.ts";
import type { StopContext } from "../../types/policies.ts";
import type { StreamResult } from "../../types/provider.ts";
import { describeValue } from "../../utils/texts.ts";
import { addCost, addUsage, noUsage } from "../../utils/count-usage.ts";
import { joinMessage } from "../state/transcript.ts";
import { isUnfinished } from "../../providers/judge-finish.ts";

/** Calls `onIteration` after a batch, as a step. */
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

/** Calls the conditions in order, until one says stop. Skips streams that failed, were cut off, or will be continued. */
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
        // The calls were not judged by every condition, so they must not run when the run is resumed.
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

/** Conditions of the AI SDK, such as `stepCountIs`, read `steps`. Without this, the error would only be about `undefined`. */
function refuseSteps(): never {
  throw new TypeError(
    'The stop condition reads "steps", as those of the AI SDK do. Use iterationCountIs or hasToolCall of "turnwright", or your own function.',
  );
}

/** Throws on any other value. Taking it for "no" would hide that the condition never holds. */
function toStop(answer: unknown): StreamResult["stop"] {
  if (answer === true) return {};
  if (answer === false) return undefined;
  const { kind, reason } = isRecord(answer) ? answer : {};
  if (kind === "continue") return undefined;
  if (kind === "stop") return typeof reason === "string" ? { reason } : {};
  const expected = 'true, false, { kind: "continue" } or { kind: "stop" }';
  throw new TypeError(`A stop condition must answer ${expected}, but answered ${describeValue(answer)}.`);
}
