// Calls the hooks of the caller, and limits how long the run waits for them.

import type { PlainError } from "../../types/common.ts";
import { assertNever, isRecord } from "../../utils/guards.ts";
import { freezeDeep } from "../../utils/json.ts";
import { applyStep } from "../state/apply-step.ts";
import type { HookAnswer } from "../state/step-result.ts";
import { stepKey } from "../state/step-key.ts";
import { runStep } from "./run-step.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { textOrNone, toPlainError } from "../../utils/plain-error.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import { type CancelReason, CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Run } from "./run.ts";

export type HookEnd<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "failed"; readonly error: PlainError; readonly thrown?: unknown }
  | { readonly kind: "cancelled"; readonly cause: CancelReason };

/**
 * Calls a hook, and waits for at most `hookMs`. Skips the hook if the run is already being cancelled. `read` copies the needed
 * fields of the returned object.
 */
export async function askHook<T>(
  hook: () => unknown,
  read: (answer: unknown) => T,
  run: Pick<Run, "clock" | "scope" | "timeouts">,
): Promise<HookEnd<T>> {
  const { scope } = run;
  if (scope.cause !== undefined) return { kind: "cancelled", cause: scope.cause };
  try {
    const answer = promiseOrValue(hook());
    if (!(answer instanceof Promise)) return { kind: "value", value: read(answer) };
    const raced = await new Deadline({ limitMs: run.timeouts.hookMs }, run).race(answer);
    switch (raced.kind) {
      case "value":
        return { kind: "value", value: read(raced.value) };
      case "cancelled":
        return raced;
      case "thrown":
        return toFailed(raced.error);
      case "expired":
        return toFailed(new DOMException(`The hook took longer than ${raced.limitMs} ms.`, "TimeoutError"));
      default:
        return assertNever(raced);
    }
  } catch (error) {
    return toFailed(error);
  }
}

/** Calls a hook for a finished stream. An interrupt does not cancel the hook, because the stream is already over. */
export async function askAfterStream<T>(
  hook: () => unknown,
  read: (answer: unknown) => T,
  run: Pick<Run, "clock" | "scope" | "timeouts">,
): Promise<HookEnd<T>> {
  const askOnce = once(hook);
  for (;;) {
    run.scope.withdrawInterrupt();
    const end = await askHook(askOnce, read, run);
    if (end.kind !== "cancelled" || end.cause.kind !== "interrupt") return end;
  }
}

/**
 * Calls a hook whose result an earlier execution did not record. The replay needs this result, so the hook is called even in a
 * run that is being cancelled. A cancelled run waits for at most `hookMs` or `settleMs`, whichever is shorter. After a kill, the
 * run waits for 1 ms.
 */
export async function askAgain<T>(
  hook: () => unknown,
  read: (answer: unknown) => T,
  run: Pick<Run, "clock" | "scope" | "timeouts">,
): Promise<HookEnd<T>> {
  const askOnce = once(hook);
  const end = await askHook(askOnce, read, run);
  if (end.kind !== "cancelled") return end;
  const { hookMs, settleMs } = run.timeouts;
  const graceMs = end.cause.kind === "kill" ? 1 : Math.max(1, Math.min(hookMs, settleMs));
  return askHook(askOnce, read, { clock: run.clock, scope: new CancelScope(), timeouts: { ...run.timeouts, hookMs: graceMs } });
}

/** Calls `onIteration` after an iteration, as a step of the journal. */
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

function once(hook: () => unknown): () => unknown {
  let asked: { readonly answer: unknown } | undefined;
  return () => {
    if (asked === undefined) {
      asked = { answer: promiseOrValue(hook()) };
    }
    return asked.answer;
  };
}

function toFailed(thrown: unknown): HookEnd<never> {
  return { kind: "failed", error: toPlainError(thrown), thrown };
}
