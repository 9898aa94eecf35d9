// Avoids promises for values that are already available, because each unnecessary `await` slows down runs with many cheap calls.

import { isThenable } from "./guards.ts";

/** Passes `value` to `next` immediately. If `value` is a promise, passes its result once it resolves. */
export function whenReady<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | PromiseLike<R>): R | PromiseLike<R> {
  const ready = promiseOrValue(value);
  return ready instanceof Promise ? ready.then(next) : next(ready);
}

export function whenAllReady<T>(values: readonly (T | PromiseLike<T>)[]): readonly T[] | PromiseLike<readonly T[]> {
  const ready = values.map(promiseOrValue);
  return ready.some((value) => value instanceof Promise) ? Promise.all(ready) : (ready as readonly T[]);
}

/** Returns a promise for a value with a `then` method, and any other value unchanged. */
export function promiseOrValue<T>(value: PromiseLike<T> | T): Promise<T> | T {
  if (value instanceof Promise) return value as Promise<T>;
  return isThenable(value) ? Promise.resolve(value) : value;
}

/**
 * Ignores a value that may be a promise, for example because the caller's method is `async`. A rejection is caught, because an
 * unhandled rejection would end the process.
 */
export function dropPromise(value: unknown): void {
  const dropped = promiseOrValue(value);
  if (dropped instanceof Promise) dropped.catch(() => {});
}

/** Ends an iterator whose values are no longer read. Does not wait, because the iterator may never end, and ignores its errors. */
export function dropIterator(iterator: Pick<AsyncIterator<unknown, unknown>, "return"> | undefined): void {
  try {
    dropPromise(iterator?.return?.());
  } catch {
    // Ignores the error, because nobody waits for the iterator.
  }
}

/**
 * Wraps a function so that it runs once for each object. The result is kept as long as the object exists, and every later call with this
 * object returns it, so the other arguments must not affect the result.
 *
 * @example const toWire = memoize((message: Message) => ({ role: message.role }));
 */
export function memoize<Source extends object, Made extends object | string | number, Rest extends readonly unknown[] = []>(
  make: (source: Source, ...rest: Rest) => Made,
): (source: Source, ...rest: Rest) => Made {
  const known = new WeakMap<Source, Made>();
  return (source, ...rest) => {
    let made = known.get(source);
    if (made === undefined) {
      made = make(source, ...rest);
      known.set(source, made);
    }
    return made;
  };
}

const most = 256;

/** Counts consecutive stream items without content. Without pauses, such items would block all of the process's timers. */
export class Lull {
  #count = 0;

  /**
   * Counts one stream item. After 256 consecutive items without content, returns a promise that resolves after timers and other
   * tasks have run.
   */
  note(hasContent: boolean): Promise<void> | undefined {
    this.#count = hasContent ? 0 : this.#count + 1;
    if (this.#count < most) return undefined;
    this.#count = 0;
    return new Promise((resolve) => void globalThis.setTimeout(resolve, 0));
  }
}
