// Holds nested runs that wait for outside answers while other parts of the outermost run continue.

import type { Cancellable, CancelScope } from "../../../shared/cancellation/cancel-scope.ts";
import { whenParked } from "../journals.ts";

interface OutermostRun {
  readonly openSteps: number;
  readonly hungryCalls: number;
}

export class HeldRuns {
  readonly #root: OutermostRun;
  readonly #held = new Set<() => void>();

  constructor(root: OutermostRun) {
    this.#root = root;
  }

  /**
   * Resolves when no step in the outermost run can continue, a call needs the concurrency slot of a waiting call, or the scope is
   * cancelled.
   */
  hold(scope: CancelScope): Promise<void> {
    return untilEither(scope, (end) => {
      this.#held.add(end);
      this.check();
      return () => void this.#held.delete(end);
    });
  }

  check(): void {
    if (this.#held.size === 0 || this.#mayWait) return;
    whenParked(() => {
      if (!this.#mayWait) for (const end of this.#held) end();
    });
  }

  get #mayWait(): boolean {
    const { openSteps, hungryCalls } = this.#root;
    return openSteps > 0 && hungryCalls === 0;
  }
}

/** Resolves when the scope is cancelled, or when `listen` calls its argument. `listen` returns the function that stops listening. */
export function untilEither(scope: CancelScope, listen: (end: () => void) => () => void): Promise<void> {
  return new Promise<void>((resolve) => {
    const slot: Cancellable = { cancel: () => end() };
    const stop = listen(() => end());
    const end = (): void => {
      scope.leave(slot);
      stop();
      resolve();
    };
    scope.join(slot);
  });
}
