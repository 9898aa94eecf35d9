// Promises, and values that may be promises.

/** Passes `value` to `next`: synchronously if it is a value, else when the promise is fulfilled. */
export function whenReady<T, R>(value: T | PromiseLike<T>, next: (value: T) => R | PromiseLike<R>): R | PromiseLike<R> {
  const ready = promiseOrValue(value);
  return ready instanceof Promise ? ready.then(next) : next(ready);
}

/** Returns all values in order: synchronously if all are there, else when the last promise is fulfilled. */
export function whenAllReady<T>(values: readonly (T | PromiseLike<T>)[]): readonly T[] | PromiseLike<readonly T[]> {
  const ready = values.map(promiseOrValue);
  return ready.some((value) => value instanceof Promise) ? Promise.all(ready) : (ready as readonly T[]);
}

/**
 * Returns a promise for anything with a `then` method, and any other value unchanged. Reads `then` once, because an object may
 * return something else the second time, or throw. Errors of reading it are thrown.
 */
export function promiseOrValue<T>(value: PromiseLike<T> | T): Promise<T> | T {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return value;
  if (isPlainPromise(value)) return value;
  const { then } = value as { readonly then?: unknown };
  if (typeof then !== "function") return value as T;
  return new Promise<T>((resolve, reject) => {
    Reflect.apply(then, value, [resolve, reject]);
  });
}

/** True for a native promise without a subclass and without fields of its own. */
function isPlainPromise<T>(value: PromiseLike<T> | T): value is Promise<Awaited<T>> & Promise<T> {
  if (Object.getPrototypeOf(value) !== Promise.prototype) return false;
  return !Object.hasOwn(value as object, "then") && !Object.hasOwn(value as object, "constructor");
}

/**
 * Handles the rejection of a promise that came instead of a value, for example from an `async` method. An unhandled rejection
 * would end the process.
 */
export function dropPromise(value: unknown): void {
  try {
    const dropped = promiseOrValue(value);
    if (dropped instanceof Promise) dropped.catch(() => {});
  } catch {
    // It cannot be read, so nothing can wait for it.
  }
}

/** Returns the items of an iterable. Throws a TypeError for anything else. */
export function listItems<T>(source: Iterable<T>): T[] {
  const iterator: Iterator<T> = source[Symbol.iterator]();
  dropPromise(iterator);
  return [...{ [Symbol.iterator]: () => iterator }];
}

/**
 * Wraps a function so that it runs once per object. The result is kept as long as the object lives. Further arguments may only
 * affect the errors: a kept result is returned for any arguments.
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
