// Calls a hook of the caller. The hook may throw, take too long, or still be running when the run ends.

import type { PlainError } from "../../types/common.ts";
import { assertNever } from "../../utils/guards.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import { type CancelReason, CancelScope } from "../../cancellation/cancel-scope.ts";
import type { Run } from "./run.ts";

/** The outcome of a hook call. */
export type HookEnd<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "failed"; readonly error: PlainError; readonly thrown?: unknown }
  | { readonly kind: "cancelled"; readonly cause: CancelReason };

/**
 * Calls a hook, and waits for at most `hookMs`. If the run is already being cancelled, the hook is not called. `read` copies the
 * needed fields of the returned object once, because the object may change later, and a getter may throw.
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
 * Calls a hook that belongs to a finished stream. Like `askHook`, except that an interrupt does not cancel the hook, because
 * it is too late to interrupt the stream.
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
 * Calls a hook again whose result an earlier execution did not record. The replay needs this result, so the hook is also called if
 * the run is being cancelled. The run then waits for at most `hookMs` or `settleMs`, whichever is shorter. After a kill, it
 * waits for 1 ms.
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
      // Convert once: a thenable of another library may not allow two `then` calls.
      asked = { answer: promiseOrValue(hook()) };
    }
    return asked.answer;
  };
}

function toFailed(thrown: unknown): HookEnd<never> {
  return { kind: "failed", error: toPlainError(thrown), thrown };
}
