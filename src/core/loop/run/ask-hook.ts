// Calls a hook of the caller's, guarded: it may throw, take too long, or be overtaken by the end of the run.

import type { PlainError } from "../../types/common.ts";
import { assertNever } from "../../utils/guards.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import { type CancelReason, CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Run } from "./run.ts";

/** The end of a hook. */
export type HookEnd<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "failed"; readonly error: PlainError; readonly thrown?: unknown }
  | { readonly kind: "cancelled"; readonly cause: CancelReason };

/**
 * Calls a hook and waits for it, at most `hookMs`. A run that is already ending does not call it. `read` takes what it needs of the
 * answer, once: the caller's object may change, or throw when it is read.
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

/**
 * Calls a hook that belongs to a stream which is over. An interrupt comes too late by then: it does not cut the question off. Otherwise as
 * `askHook`.
 */
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
 * Calls a hook that was called before, in an execution that went on with its answer: without the answer nothing of what is recorded can
 * be told again. So it is called also in a run that is ending, and waited for as long as the run waits for its tools.
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

function once(hook: () => unknown): () => unknown {
  let asked: { readonly answer: unknown } | undefined;
  return () => {
    if (asked === undefined) {
      // A thenable of another kind may not like to be waited for twice.
      asked = { answer: promiseOrValue(hook()) };
    }
    return asked.answer;
  };
}

function toFailed(thrown: unknown): HookEnd<never> {
  return { kind: "failed", error: toPlainError(thrown), thrown };
}
