// Waits of a played stream, which end when the signal of the call fires.

/** Waits for the work of `start`. Rejects with the signal's reason if it fires first. Leaves neither timer nor listener. */
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
