// Counts the listeners on abort signals by wrapping addEventListener and removeEventListener.

export function countListeners(): { on(signal: AbortSignal): number; total(): number; stop(): void } {
  const { addEventListener, removeEventListener } = AbortSignal.prototype;
  const listeners = new Map<AbortSignal, Set<unknown>>();
  AbortSignal.prototype.addEventListener = function (this: AbortSignal, ...args: Parameters<typeof addEventListener>) {
    const held = listeners.get(this) ?? new Set();
    listeners.set(this, held.add(args[1]));
    return addEventListener.apply(this, args);
  };
  AbortSignal.prototype.removeEventListener = function (this: AbortSignal, ...args: Parameters<typeof removeEventListener>) {
    listeners.get(this)?.delete(args[1]);
    return removeEventListener.apply(this, args);
  };
  return {
    on: (signal) => listeners.get(signal)?.size ?? 0,
    total: () => [...listeners.values()].reduce((sum, held) => sum + held.size, 0),
    stop: () => Object.assign(AbortSignal.prototype, { addEventListener, removeEventListener }),
  };
}
