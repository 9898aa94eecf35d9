// Promises, and values that may be promises.

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

/**
 * Gives a promise for anything with a `then` method, and every other value as it is. `then` is read once: an object may answer
 * differently the second time, or throw. Throws what the reading throws.
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

/** True for a promise that cannot differ from others of its kind, as one of a subclass or with fields of its own can. */
function isPlainPromise<T>(value: PromiseLike<T> | T): value is Promise<Awaited<T>> & Promise<T> {
  if (Object.getPrototypeOf(value) !== Promise.prototype) return false;
  return !Object.hasOwn(value as object, "then") && !Object.hasOwn(value as object, "constructor");
}

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

/**
 * Wraps a function so that it runs once for each object and its result is kept for as long as the object lives. Further arguments may
 * only change what it throws: the kept result is returned whatever they are.
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
