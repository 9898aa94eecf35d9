// Assigns uncaught errors, such as the rejection of an unawaited promise, to the trials that caused them. Only the command line does this,
// because a library must not change how its process handles errors.

import { AsyncLocalStorage } from "node:async_hooks";

/** A trial that has begun. */
export interface StrayTarget {
  readonly id: string;
  /** Ends the trial with the error. Returns false if the trial has already ended. */
  fail(error: unknown): boolean;
}

const active = new Set<StrayTarget>();
let found: AsyncLocalStorage<StrayTarget> | undefined;

/** Enables `findStray`, but slows down promises. */
export function traceTrials(): void {
  found ??= new AsyncLocalStorage();
}

/** Runs a trial's work, and then waits until the process has reported the rejections of its last promises. */
export async function traceTrial<T>(target: StrayTarget, work: () => Promise<T>): Promise<T> {
  if (found === undefined) return work();
  active.add(target);
  try {
    const value = await found.run(target, work);
    await new Promise((settle) => void setImmediate(settle));
    return value;
  } finally {
    active.delete(target);
  }
}

/** Returns the trial whose code caused the error that is being reported, and the ids of the running trials. */
export function findStray(): { readonly trial: StrayTarget | undefined; readonly running: readonly string[] } {
  return { trial: found?.getStore(), running: [...active].map(({ id }) => id) };
}
