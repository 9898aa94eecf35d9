// Asks the stop conditions about a response. Part of its step, so that what they said is recorded with it.

import type { StopContext } from "../../types/stop-condition.ts";
import type { StreamResult } from "../../types/stream-result.ts";
import { assertNever } from "../../utils/assert-never.ts";
import { describeValue } from "../../utils/describe-value.ts";
import { freezeDeep } from "../../utils/freeze-deep.ts";
import { isRecord } from "../../utils/is-record.ts";
import { addCost, addUsage, noUsage } from "../../utils/add-usage.ts";
import { endingOfReason } from "../state/ending-of-cause.ts";
import { joinTurn } from "../state/join-turn.ts";
import { isUnfinished } from "../../providers/judge-finish.ts";
import { askAfterStream } from "../run/ask-hook.ts";
import type { Run } from "../run/run.ts";

/** Asks in order, until one says stop. Streams that failed, were cut off, or are resent are not asked about. */
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
        // Calls that nobody has decided about must not run when the run is resumed.
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
    response: freezeDeep(state.continuation === 0 ? result : { ...result, ...joinTurn(state.turn, result) }),
    totalUsage: addUsage(state.usage, result.usage ?? noUsage),
    costUSD: addCost(state.costUSD, result.costUSD),
    toolCallsExecuted: state.toolCallsExecuted,
    lastToolResults: state.lastBatch.map(({ outcome }) => freezeDeep(outcome)),
  };
  return Object.defineProperty(context, "steps", { get: refuseSteps });
}

/** Conditions of the AI SDK, such as `stepCountIs`, read `steps`. An error about `undefined` would not tell their author what to do. */
function refuseSteps(): never {
  throw new TypeError(
    'The stop condition reads "steps", as those of the AI SDK do. Use iterationCountIs or hasToolCall of "turnwright", or your own function.',
  );
}

/** An answer of another form is a mistake: taken for a no, the condition would never hold and nobody would know. */
function toStop(answer: unknown): StreamResult["stop"] {
  if (answer === true) return {};
  if (answer === false) return undefined;
  const { kind, reason } = isRecord(answer) ? answer : {};
  if (kind === "continue") return undefined;
  if (kind === "stop") return typeof reason === "string" ? { reason } : {};
  const expected = 'true, false, { kind: "continue" } or { kind: "stop" }';
  throw new TypeError(`A stop condition must answer ${expected}, but answered ${describeValue(answer)}.`);
}
