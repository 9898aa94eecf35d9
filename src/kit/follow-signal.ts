// Stands between a signal and code that leaves listeners on what it is given.

/** A signal that follows another one. */
export interface FollowedSignal {
  readonly signal: AbortSignal;
  /** Lets go of the other one. */
  release(): void;
  /** Fires without the other one. */
  abort(): void;
}

/** A signal that does what another one does until it is released; SDKs never take their listeners off theirs. */
export function followSignal(signal: AbortSignal): FollowedSignal {
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return { signal: own.signal, release: () => signal.removeEventListener("abort", abort), abort };
}
