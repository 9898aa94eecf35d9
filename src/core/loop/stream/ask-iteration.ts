// Asks the hook `onIteration` whether the run goes on after a batch.

import { freezeDeep } from "../../utils/freeze-deep.ts";
import { isRecord } from "../../utils/is-record.ts";
import { textOrNone } from "../../utils/read-foreign.ts";
import { applyStep } from "../state/apply-step.ts";
import type { HookAnswer } from "../state/loop-state.ts";
import { askHook } from "../run/ask-hook.ts";
import type { Run } from "../run/run.ts";
import { runStep } from "../run/run-step.ts";
import { stepKey } from "../state/step-key.ts";

/** Tells `onIteration` where the run stands after a batch, as a step. */
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
