// Waits for changes of runs.

export class RunWaits {
  readonly #wakes = new Map<string, Set<() => void>>();

  /** Makes all waits for this run call `look` again. */
  wake(runId: string): void {
    for (const wake of this.#wakes.get(runId) ?? []) wake();
  }

  wakeAll(): void {
    for (const runId of this.#wakes.keys()) this.wake(runId);
  }

  /** Calls `look` now, and each time that the run is woken, until it returns a value. Rejects when one of the signals fires. */
  async waitFor<T>(runId: string, look: () => Promise<T | undefined>, signals: readonly AbortSignal[]): Promise<T> {
    let wake: () => void = () => {};
    const onChange = (): void => wake();
    const wakes = this.#wakes.get(runId) ?? new Set();
    this.#wakes.set(runId, wakes.add(onChange));
    for (const one of signals) one.addEventListener("abort", onChange);
    try {
      for (;;) {
        // Created before `look` is called, so that a change during the call is noticed.
        const woken = new Promise<void>((resolve) => (wake = resolve));
        for (const one of signals) one.throwIfAborted();
        const found = await look();
        if (found !== undefined) return found;
        await woken;
      }
    } finally {
      for (const one of signals) one.removeEventListener("abort", onChange);
      wakes.delete(onChange);
      if (wakes.size === 0) this.#wakes.delete(runId);
    }
  }
}
