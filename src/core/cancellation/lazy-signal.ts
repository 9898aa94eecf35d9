// An abort signal that costs nothing until somebody asks for it: making one takes longer than a whole iteration of bookkeeping.

/** Owns one AbortSignal, made on first use. */
export class LazySignal {
  #controller: AbortController | undefined;
  #reason: (() => unknown) | undefined;

  /** The signal; already aborted where `abort` came first. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason());
    }
    return this.#controller.signal;
  }

  /** Fires the signal once. `reason` is only asked where somebody holds the signal. */
  abort(reason: () => unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason());
  }
}
