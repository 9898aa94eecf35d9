// Provides what a worker needs, whatever its engine: its list of runs, and its list of callers that wait for a run to change.

import { followSignal, untilAborted } from "../../shared/signals.ts";
import type { DurableEngine, DurableStore, LiveRun } from "./durable-store.ts";

export class RunWaits {
  readonly #wakes = new Map<string, Set<() => void>>();

  /** Makes every `waitFor` for this run call `look` again. */
  wake(runId: string): void {
    for (const wake of this.#wakes.get(runId) ?? []) wake();
  }

  wakeAll(): void {
    for (const runId of this.#wakes.keys()) this.wake(runId);
  }

  /**
   * Calls `look` now, and each time that `wake` is called for the run, until `look` returns a value. Rejects when a signal fires.
   */
  async waitFor<T>({ runId, look, signal }: Looking<T>, stopping: AbortSignal): Promise<T> {
    let wake: () => void = () => {};
    const onChange = (): void => wake();
    const wakes = this.#wakes.get(runId) ?? new Set();
    this.#wakes.set(runId, wakes.add(onChange));
    // Also ends a pending call to `look`, which may be waiting for a server that does not answer.
    const over = followSignal(stopping, signal);
    try {
      for (;;) {
        // Creates the promise before calling `look`, because a change during that call would otherwise be missed.
        const woken = new Promise<void>((resolve) => (wake = resolve));
        over.signal.throwIfAborted();
        const found = await untilAborted(look(), over.signal);
        if (found !== undefined) return found;
        await untilAborted(woken, over.signal);
      }
    } finally {
      over.release();
      wakes.delete(onChange);
      if (wakes.size === 0) this.#wakes.delete(runId);
    }
  }
}

export abstract class WorkerSite {
  readonly id: string = `worker-${globalThis.crypto.randomUUID()}`;
  readonly live: Map<string, LiveRun> = new Map();
  protected readonly stopping: AbortController = new AbortController();
  protected readonly waits: RunWaits = new RunWaits();
  /** The callers that are waiting for the end of a run. Woken only when a run may have ended. */
  protected readonly ends: RunWaits = new RunWaits();
  abstract readonly store: DurableStore;
  abstract readonly answerMs: number;
  #stopped: Promise<void> | undefined;

  stop(): Promise<void> {
    return (this.#stopped ??= this.end());
  }

  /** Releases the worker's own resources. `stop` calls this method once. */
  protected abstract end(): Promise<void>;

  /** Ends all executions, so that other workers can continue the runs. Resolves when all executions have ended. */
  protected async abandonAll(): Promise<void> {
    const runs = [...this.live.values()];
    for (const run of runs) run.abandon();
    await Promise.all(runs.map(({ ended }) => ended));
  }

  /** Schedules the handling of the messages that were sent to a run. Does nothing if this worker is not executing the run. */
  protected obeySoon(runId: string): void {
    void this.live
      .get(runId)
      ?.obey()
      .catch(() => {});
  }

  /** The parts of `DurableEngine` that do not depend on the loop. `waitFor` and `waitForEnd` also reject when the worker stops. */
  get ports(): Pick<DurableEngine, "store" | "answerMs" | "waitFor" | "waitForEnd"> {
    const { store, answerMs } = this;
    const waitForEnd: DurableEngine["waitForEnd"] = (runId, look, signal) => this.look(this.ends, { runId, look, signal });
    return { store, answerMs, waitFor: this.waitFor, waitForEnd };
  }

  readonly waitFor: DurableEngine["waitFor"] = (runId, look, signal) => this.look(this.waits, { runId, look, signal });

  protected look<T>(waits: RunWaits, looking: Looking<T>): Promise<T> {
    return waits.waitFor(looking, this.stopping.signal);
  }
}

export interface Looking<T> {
  readonly runId: string;
  readonly look: () => Promise<T | undefined>;
  readonly signal: AbortSignal | undefined;
}
