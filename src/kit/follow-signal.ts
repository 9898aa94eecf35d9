// Stands between a signal and code that leaves listeners on what it is given.

/** A signal that does what another one does until it is released; SDKs never take their listeners off theirs. */
export function followSignal(signal: AbortSignal): { readonly signal: AbortSignal; release(): void } {
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return { signal: own.signal, release: () => signal.removeEventListener("abort", abort) };
}
