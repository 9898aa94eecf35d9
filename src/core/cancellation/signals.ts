// Abort signals: made when somebody asks for them, and listened to once.

import { dropPromise } from "../utils/promises.ts";

/** The waiters of each signal, and the one listener that calls them. */
interface Waiting {
  readonly calls: Set<() => void>;
  readonly tell: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/** Calls `call` when the signal fires, until the returned function lets go. The signal keeps a listener only while somebody waits. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  // Its own function, so that one caller may wait twice.
  const own = (): void => call();
  const known = waiting.get(signal) ?? listen(signal);
  known.calls.add(own);
  return () => {
    if (!known.calls.delete(own) || known.calls.size > 0 || waiting.get(signal) !== known) return;
    waiting.delete(signal);
    letGo(signal, known.tell);
  };
}

function listen(signal: AbortSignal): Waiting {
  const calls = new Set<() => void>();
  const tell = (): void => {
    waiting.delete(signal);
    letGo(signal, tell);
    for (const call of [...calls]) if (calls.has(call)) callAlone(call);
  };
  const made: Waiting = { calls, tell };
  // First, because a signal of the caller's own may throw.
  dropPromise(signal.addEventListener("abort", tell));
  waiting.set(signal, made);
  return made;
}

/** A signal of the caller's own that cannot be let go harms no run: what it calls later does nothing. */
function letGo(signal: AbortSignal, tell: () => void): void {
  try {
    dropPromise(signal.removeEventListener("abort", tell));
  } catch {
    // As above.
  }
}

/** A waiter that throws harms no other: its error is reported as that of a listener of its own would be. */
function callAlone(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

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

/** A method of such an emitter, which the loop calls last of all. By a name that every copy of this package has in common. */
const method = "turnwright.run-closed";

/** An emitter that wants to know. */
export interface RunWatcher {
  readonly [method]: (run: ClosedRun) => void;
}

/** A run that is over. */
export interface ClosedRun {
  readonly runId: string;
  /** Set where it did not end, but broke. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/** Tells an emitter, if it wants to know. What it throws disturbs nobody: the run is over. */
export function tellClosed(emitter: object | undefined, run: ClosedRun): void {
  try {
    const tell: unknown = emitter === undefined ? undefined : Reflect.get(emitter, method);
    if (typeof tell === "function") dropPromise(Reflect.apply(tell, emitter, [run]));
  } catch {
    // An emitter of the caller's own may throw whatever is asked of it.
  }
}
