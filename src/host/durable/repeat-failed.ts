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
