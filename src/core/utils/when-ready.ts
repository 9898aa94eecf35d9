// Goes on at once with what is there, and later with what is not: an `async` function in between would cost a tick, and a generator's
// worth of memory, also where nothing needs waiting.

import { promiseOrValue } from "./promise-or-value.ts";

/** Hands `value` to `next`: now where it is a value, else when the promise of it is kept. */
export function whenReady<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | PromiseLike<R>): R | PromiseLike<R> {
  const ready = promiseOrValue(value);
  return ready instanceof Promise ? ready.then(next) : next(ready);
}

/** All values in their order: now where all are there, else when the last promise is kept. */
export function whenAllReady<T>(values: readonly (T | PromiseLike<T>)[]): readonly T[] | PromiseLike<readonly T[]> {
  const ready = values.map(promiseOrValue);
  return ready.some((value) => value instanceof Promise) ? Promise.all(ready) : (ready as readonly T[]);
}
