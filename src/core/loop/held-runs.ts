// Nested runs that wait for answers from outside, while other steps of their outermost run can go on.

import type { Cancellable, CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import { whenParked } from "./journals.ts";

export class HeldRuns {
  /** The number of steps that have begun and not ended. */
  busy = 0;
  /** The number of calls that need the place of a call that waits. */
  #hungry = 0;
  readonly #held = new Set<() => void>();

  /** Resolves when no step can go on any more, when a call needs the place, or when the scope is cancelled. */
  hold(scope: CancelScope): Promise<void> {
    return new Promise<void>((resolve) => {
      const slot: Cancellable = { cancel: () => end() };
      const end = (): void => {
        scope.leave(slot);
        this.#held.delete(end);
        resolve();
      };
      scope.join(slot);
      this.#held.add(end);
      this.check();
    });
  }

  /** Takes the place of calls that wait, until the work begins. */
  feed(begins: Promise<unknown> | undefined): void {
    this.#hungry += 1;
    this.check();
    void begins?.then(() => (this.#hungry -= 1));
  }

  check(): void {
    if (this.#held.size === 0 || (this.busy > 0 && this.#hungry === 0)) return;
    whenParked(() => {
      if (this.busy === 0 || this.#hungry > 0) for (const end of this.#held) end();
    });
  }
}
