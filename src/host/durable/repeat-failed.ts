// Repeats requests that fail, and limits how long a request is awaited.

export interface Repetition {
  /** The time between two requests, in milliseconds. */
  readonly everyMs: number;
  readonly mayRepeat: (error: unknown) => boolean;
}

/**
 * Repeats a request that fails, for example while a server restarts. Rejects with the first error for which `mayRepeat` returns
 * false.
 */
export async function repeatFailed<T>(request: () => Promise<T>, { everyMs, mayRepeat }: Repetition): Promise<T> {
  for (;;) {
    try {
      return await request();
    } catch (error) {
      if (!mayRepeat(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, everyMs));
    }
  }
}

/**
 * Waits for `work` for at most `ms` milliseconds, and then rejects. The work goes on, but its result is dropped. `what` is the name
 * of the method that the caller has called.
 */
export async function withinTime<T>(
  work: () => Promise<T>,
  { what, ms }: { readonly what: string; readonly ms: number },
): Promise<T> {
  const over = new AbortController();
  const refuse = (): void =>
    over.abort(
      new Error(
        `"${what}" got no answer within ${ms} ms, and may still take effect. Check that the server of the runs can be reached, then call "${what}" again.`,
      ),
    );
  const timer = setTimeout(refuse, ms);
  try {
    return await untilOver(work(), over.signal);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Waits for a promise that may never settle after an execution has ended. Rejects when `over` fires, with the reason of the signal
 * or with the error of `refusal`.
 */
export function untilOver<T>(promise: PromiseLike<T>, over: AbortSignal, refusal?: () => Error): Promise<T> {
  return new Promise((resolve, reject) => {
    const refuse = (): void => reject(refusal === undefined ? over.reason : refusal());
    const done = (): void => over.removeEventListener("abort", refuse);
    if (over.aborted) refuse();
    else over.addEventListener("abort", refuse);
    promise.then(
      (value) => {
        done();
        resolve(value);
      },
      (error: unknown) => {
        done();
        reject(error);
      },
    );
  });
}
