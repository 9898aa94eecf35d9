// What can serve as the emitter of a run's events.

const methods = ["listeners", "listenerCount", "removeListener"] as const;

/** True for an eventemitter3. Node's own has the same methods, but takes a listener off where eventemitter3 only does so after `once`. */
export function isEmitter(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const has = (name: string): boolean => typeof Reflect.get(value, name) === "function";
  return methods.every(has) && !has("setMaxListeners");
}
