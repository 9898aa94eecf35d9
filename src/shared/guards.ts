import { edges } from "./edges.ts";

/** An object whose fields are unknown. */
export type UnknownRecord = { readonly [field: string]: unknown };

/** True for an object that is not null and not an array. */
export function isRecord(value: unknown): value is UnknownRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  return typeof (value as { readonly then?: unknown }).then === "function";
}

const methods = ["listeners", "listenerCount", "removeListener"] as const;

/**
 * True for an emitter from eventemitter3. False for Node's own EventEmitter, which ignores the fourth argument of `removeListener`. The
 * loop needs this argument to remove only listeners that were added with `once`.
 */
export function isEmitter(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const has = (name: string): boolean => typeof Reflect.get(value, name) === "function";
  return methods.every(has) && !has("setMaxListeners");
}

export function hasBrand(value: unknown, brand: symbol): value is object {
  return typeof value === "object" && value !== null && brand in value;
}

/** Sets a field whose name is untrusted. Assigning to "__proto__" would replace the prototype instead. */
export function setField<Value>(fields: { [field: string]: Value }, name: string, value: Value): void {
  if (name !== "__proto__") fields[name] = value;
  else Object.defineProperty(fields, name, { value, writable: true, enumerable: true, configurable: true });
}

/** Returns a weak map that all loaded copies of the package share. Choose a different name if the format of the values changes. */
export function sharedMap<Key extends object, Value>(name: string): WeakMap<Key, Value> {
  const key = Symbol.for(`turnwright.${name}`);
  const known: unknown = Reflect.get(globalThis, key);
  if (known instanceof WeakMap) return known as WeakMap<Key, Value>;
  const made = new WeakMap<Key, Value>();
  Object.defineProperty(globalThis, key, { value: made });
  return made;
}

/**
 * True for an object without a class. Only such objects are checked for unknown fields, because a class instance may have
 * any fields.
 */
export function isLiteral(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/**
 * Makes the compiler reject a `switch` that forgets a case. Throws a TypeError if untyped code passes a value anyway. The
 * message contains only the value's `type`, `kind` or `code`.
 *
 * @example
 * switch (chunk.type) {
 *   case "text-delta": return chunk.text;
 *   default: return assertNever(chunk);
 * }
 */
export function assertNever(value: never): never {
  throw new TypeError(`Unexpected ${edges.describeUnexpected?.(value) ?? "value"}.`);
}
