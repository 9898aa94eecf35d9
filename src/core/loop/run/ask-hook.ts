// Calls the hooks of the caller, and limits how long the run waits for them.

import type { PlainError } from "../../types/common.ts";
import { assertNever } from "../../utils/guards.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { toPlainError } from "../../utils/plain-error.ts";
import { promiseOrValue } from "../../utils/promises.ts";
import { type CancelReason } from "../../cancellation/cancel-scope.ts";
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
