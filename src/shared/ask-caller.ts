// Lets middleware call the caller's functions with a time limit.

import type { Clock } from "../core/types/common.ts";
import { onAbort } from "./signals.ts";

interface CallLimits {
  readonly clock: Clock;
  readonly ms: number;
  /** The run's signal. When it aborts, the call is no longer awaited. */
  readonly signal: AbortSignal;
  /** The message of the TimeoutError. */
  readonly late?: string | undefined;
  /** Called when the time limit is reached, before the promise rejects. */
  readonly onLate?: (() => void) | undefined;
}

/**
 * Waits for `call`. Rejects with a TimeoutError after `ms`, and with the reason of `signal` when it aborts. Does not invoke `call` if
 * `signal` has already aborted.
 */
export function askCaller<T>(
  call: (signal: AbortSignal) => T | PromiseLike<T>,
  { clock, ms, signal, late = `The hook took longer than ${ms} ms.`, onLate }: CallLimits,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const own = new AbortController();
    let timer: unknown;
    const end = (): void => {
      forget();
      if (timer !== undefined) clock.clearTimeout(timer);
      timer = undefined;
    };
    const stop = (reason: unknown): void => {
      end();
      own.abort(reason);
      reject(reason);
    };
    const forget = onAbort(signal, () => stop(signal.reason));
    const expire = (): void => {
      onLate?.();
      stop(new DOMException(late, "TimeoutError"));
    };
    if (ms !== Number.POSITIVE_INFINITY) timer = clock.setTimeout(expire, ms);
    new Promise<T>((done) => done(call(own.signal))).then(resolve, reject).finally(end);
  });
}
