// Waits for changes of runs. Restate has no notifications for processes outside, so readers look again and again.

import type { LiveRun } from "../host/durable/durable-store.ts";

/** The time between two looks, in milliseconds. It grows while nothing changes. */
const firstMs = 30;
const growth = 1.4;
const longestMs = 500;

/** The longest time for a run that this process executes, because its worker is notified. */
const longestOwnMs = 10_000;

export class RunWaits {
  readonly #live: ReadonlyMap<string, LiveRun>;
  readonly #stopping: AbortSignal;
  readonly #waiting = new Map<string, Set<() => void>>();

  constructor(live: ReadonlyMap<string, LiveRun>, stopping: AbortSignal) {
    this.#live = live;
    this.#stopping = stopping;
  }

  /** Lets all that wait for a change of the run look again. */
  wake(runId: string): void {
    for (const wake of this.#waiting.get(runId) ?? []) wake();
  }

  async waitFor<T>(runId: string, look: () => Promise<T | undefined>, signal?: AbortSignal): Promise<T> {
    let wake: () => void = () => {};
    const onChange = (): void => wake();
    const waiting = this.#waiting.get(runId) ?? new Set();
    this.#waiting.set(runId, waiting.add(onChange));
    const signals = signal === undefined ? [this.#stopping] : [this.#stopping, signal];
    for (const one of signals) one.addEventListener("abort", onChange);
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      for (let waitMs = firstMs; ; waitMs *= growth) {
        // Created before the look, so that a change during the look is noticed.
        const woken = new Promise<void>((resolve) => (wake = resolve));
        for (const one of signals) one.throwIfAborted();
        const found = await look();
        if (found !== undefined) return found;
        timer = setTimeout(onChange, Math.min(waitMs, this.#live.has(runId) ? longestOwnMs : longestMs));
        await woken;
        clearTimeout(timer);
      }
    } finally {
      clearTimeout(timer);
      for (const one of signals) one.removeEventListener("abort", onChange);
      waiting.delete(onChange);
      if (waiting.size === 0) this.#waiting.delete(runId);
    }
  }
}
