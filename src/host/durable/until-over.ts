/**
 * Waits for a promise that may never settle once an execution is over. Rejects when `over` is aborted, with its reason or with the
 * error of `refusal`.
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
