// Looks after promises that nobody asked for.

import { promiseOrValue } from "./promise-or-value.ts";

/**
 * Handles the rejection of a promise that came in place of a value, as from an `async` method where a plain one is due. Unhandled, it
 * would end the process.
 */
export function dropPromise(value: unknown): void {
  try {
    const dropped = promiseOrValue(value);
    if (dropped instanceof Promise) dropped.catch(() => {});
  } catch {
    // It cannot be read, so nobody can wait for it.
  }
}

/** The items of an iterable. Throws a TypeError for anything else. */
export function listItems<T>(source: Iterable<T>): T[] {
  const iterator: Iterator<T> = source[Symbol.iterator]();
  dropPromise(iterator);
  return [...{ [Symbol.iterator]: () => iterator }];
}
