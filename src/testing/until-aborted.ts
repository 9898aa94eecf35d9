// A wait that ends early when a signal fires. Scripted and replayed streams use it.

/**
 * Waits until `start` calls `done`. If the signal fires first, rejects with the signal's reason. Releases all timers and
 * listeners.
 */
export function untilAborted(signal: AbortSignal, start: (done: () => void) => () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) return reject(signal.reason);
    const cancel = start(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
    function onAbort(): void {
      cancel();
      reject(signal.reason);
    }
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
