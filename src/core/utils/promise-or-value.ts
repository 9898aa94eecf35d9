// Turns whatever others answer into a promise of the platform's own, or leaves it as the value that it is.

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
