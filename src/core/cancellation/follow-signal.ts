// Stands between a signal and code that leaves listeners on what it is given.

import { onAbort } from "./signal-listeners.ts";

/** A signal that does what another one does until it is released, and can be aborted by itself. */
export interface FollowingSignal {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  release(): void;
}

/** SDKs never take their listeners off the signal that they are given: they get one of their own. */
export function followSignal(signal: AbortSignal): FollowingSignal {
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  const release = onAbort(signal, abort);
  if (signal.aborted) abort();
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    release,
  };
}
