// Abort signals that are created when they are needed, and listeners for abort signals.

import { dropPromise } from "../utils/promises.ts";

/** The functions that wait for a signal, and the one listener on the signal that calls them. */
interface Waiting {
  readonly calls: Set<() => void>;
  readonly tell: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls `call` when the signal is aborted. The returned function cancels this. All callers share one listener on the signal, which
 * is removed when nobody waits.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  // A new function each time, so that the same `call` can be added twice.
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
  // Done before `waiting` is changed, because a signal from the caller may throw.
  dropPromise(signal.addEventListener("abort", tell));
  waiting.set(signal, made);
  return made;
}

/** Removes the listener. Errors are ignored: a listener that was not removed has no effect when it is called later. */
function letGo(signal: AbortSignal, tell: () => void): void {
  try {
    dropPromise(signal.removeEventListener("abort", tell));
  } catch {
    // The caller may have passed a signal whose methods throw.
  }
}

/** Calls one waiting function. If it throws, the error is reported as uncaught, and the other functions are still called. */
function callAlone(call: () => void): void {
  try {
    call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

export class LazySignal {
  #controller: AbortController | undefined;
  #reason: (() => unknown) | undefined;

  /** The signal. If `abort` was called before, the signal is already aborted when it is created. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason());
    }
    return this.#controller.signal;
  }

  /** Aborts the signal. Only the first call has an effect. `reason` is called when the signal exists. */
  abort(reason: () => unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason());
  }
}

export interface FollowingSignal {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  release(): void;
}

/** Makes a signal to pass to an SDK. SDKs never remove their listeners, so they must not get the caller's signal itself. */
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

/** The name of the method that the loop calls when a run is over. All copies of the package use the same name. */
const method = "turnwright.run-closed";

/** An emitter with a method that is called when a run is over. */
export interface RunWatcher {
  readonly [method]: (run: ClosedRun) => void;
}

export interface ClosedRun {
  readonly runId: string;
  /** Set if the run was rejected with an error instead of returning a result. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/** Calls the method of an emitter, if it has one, when a run is over. Errors from the method are ignored. */
export function tellClosed(emitter: object | undefined, run: ClosedRun): void {
  try {
    const tell: unknown = emitter === undefined ? undefined : Reflect.get(emitter, method);
    if (typeof tell === "function") dropPromise(Reflect.apply(tell, emitter, [run]));
  } catch {
    // The caller may have passed an emitter that throws on any access.
  }
}
