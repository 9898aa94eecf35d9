// Goes on at once with what is there, and later with what is not: an `async` function in between would cost a tick, and a generator's
// worth of memory, also where nothing needs waiting.

import { isThenable } from "./is-thenable.ts";

/** Hands `value` to `next`: now where it is a value, else when the promise of it is kept. */
export function whenReady<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | PromiseLike<R>): R | PromiseLike<R> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}

/** All values in their order: now where all are there, else when the last promise is kept. */
export function whenAllReady<T>(values: readonly (T | PromiseLike<T>)[]): readonly T[] | PromiseLike<readonly T[]> {
  return values.some(isThenable) ? Promise.all(values) : (values as readonly T[]);
}
