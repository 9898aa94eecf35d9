// Retries failed requests, and limits how long to wait for an answer.

import type { Clock } from "../core/types/common.ts";
import { systemClock } from "./signals.ts";

export interface Repetition {
  /** The time between two requests, in milliseconds. */
  readonly everyMs: number;
  /** How long to repeat the request, in milliseconds. Default: no limit. */
  readonly forMs?: number;
  /** Not called after `forMs`. */
  readonly mayRepeat: (error: unknown) => boolean;
  /** The clock for the time between requests. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** Retries a request that fails, for example while a server restarts. Rejects with the first error that may not be repeated. */
export async function repeatFailed<T>(
  request: () => PromiseLike<T> | T,
  { everyMs, forMs = Infinity, mayRepeat, clock = systemClock }: Repetition,
): Promise<T> {
  const until = clock.now() + forMs;
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (clock.now() >= until || !mayRepeat(error)) throw error;
      await new Promise<void>((resolve) => void clock.setTimeout(resolve, everyMs));
    }
  }
}

export interface TimeLimit {
  /** The time limit in milliseconds. `Infinity` means no limit. */
  readonly ms: number;
  /** The clock for the time limit. Default: the system clock. */
  readonly clock?: Pick<Clock, "setTimeout" | "clearTimeout"> | undefined;
  /** Creates the error to throw when the time is up. */
  readonly toError: () => unknown;
}

/** Waits for `work`, but rejects if the time is up first. The work then continues, but its result is dropped. */
export async function withinTime<T>(work: PromiseLike<T>, { ms, clock = systemClock, toError }: TimeLimit): Promise<T> {
  if (ms === Number.POSITIVE_INFINITY) return work;
  let timer: unknown;
  const late = new Promise<never>((_, reject) => (timer = clock.setTimeout(() => reject(toError()), ms)));
  try {
    return await Promise.race([work, late]);
  } finally {
    clock.clearTimeout(timer);
  }
}

/** Waits for an answer from the server that hosts the runs. `what` names the called method in the error. */
export function answerWithin<T>(work: () => Promise<T>, what: string, ms: number): Promise<T> {
  const problem = `The call to "${what}" received no answer within ${ms} ms, but may still take effect. Check the connection to the server that hosts the runs, then call "${what}" again.`;
  return withinTime(work(), { ms, toError: () => new Error(problem) });
}
