// Calls the stop conditions of the caller after a stream.

import { assertNever, isRecord } from "../../utils/guards.ts";
import { freezeDeep } from "../../utils/json.ts";
import { endingOfReason } from "../../cancellation/cancel-scope.ts";
import { askAfterStream } from "../run/ask-hook.ts";
import type { Run } from "../run/run.ts";
import type { StopContext } from "../../types/policies.ts";
import type { StreamResult } from "../../types/provider.ts";
import { describeValue } from "../../utils/texts.ts";
import { edges } from "../../utils/edges.ts";
import { addCost, addUsage, noUsage } from "../../utils/count-usage.ts";
import { joinMessage } from "../state/transcript.ts";
import { isUnfinished } from "../../providers/judge-finish.ts";

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
  edges.refuseSteps?.(context);
  return context;
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
