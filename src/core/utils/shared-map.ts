// What copies of the package know of an object in common: an ES module and a CommonJS copy in one process share it. Objects are known by
// identity, so that nothing with the same fields passes for one of them.

/** A weak map that all copies of the package share under one name; the name changes with the form of what it holds. */
export function sharedMap<Key extends object, Value>(name: string): WeakMap<Key, Value> {
  const key = Symbol.for(`turnwright.${name}`);
  const known: unknown = Reflect.get(globalThis, key);
  if (known instanceof WeakMap) return known as WeakMap<Key, Value>;
  const made = new WeakMap<Key, Value>();
  Object.defineProperty(globalThis, key, { value: made });
  return made;
}
