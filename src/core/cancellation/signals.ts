// Abort signals that are created on demand, with one listener each.

import { dropPromise } from "../utils/promises.ts";

/** The waiters of each signal, and the one listener that calls them. */
interface Waiting {
  readonly calls: Set<() => void>;
  readonly tell: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/** Calls `call` when the signal fires, until the returned function is called. The signal has a listener only while somebody waits. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  // A function of its own, so that one caller may wait twice.
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
  // First, because a signal of the caller may throw.
  dropPromise(signal.addEventListener("abort", tell));
  waiting.set(signal, made);
  return made;
}

/** Errors are ignored: a late call of a listener that cannot be removed has no effect. */
function letGo(signal: AbortSignal, tell: () => void): void {
  try {
    dropPromise(signal.removeEventListener("abort", tell));
  } catch {
    // A signal of the caller may be anything.
  }
}

/** Calls one waiter. If it throws, the others are still called, and its error is reported like that of a separate listener. */
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

  /** The signal, created on first use; already aborted if `abort` came first. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason());
    }
    return this.#controller.signal;
  }

  /** Fires the signal once. `reason` is only called if somebody holds the signal. */
  abort(reason: () => unknown): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason());
  }
}

/** A signal that follows another one until it is released, and can also be aborted by itself. */
export interface FollowingSignal {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  release(): void;
}

/** Makes a signal for an SDK, because SDKs never remove their listeners from the signal that they get. */
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

/** The method of a watching emitter, which the loop calls last. All copies of the package use the same name. */
const method = "turnwright.run-closed";

/** An emitter that is told when a run is closed. */
export interface RunWatcher {
  readonly [method]: (run: ClosedRun) => void;
}

/** A run that is over. */
export interface ClosedRun {
  readonly runId: string;
  /** Set if the run broke instead of ending. */
  readonly failure?: { readonly error: unknown } | undefined;
}

/** Tells an emitter that a run is closed, if it has the method. Its errors are ignored, because the run is over. */
export function tellClosed(emitter: object | undefined, run: ClosedRun): void {
  try {
    const tell: unknown = emitter === undefined ? undefined : Reflect.get(emitter, method);
    if (typeof tell === "function") dropPromise(Reflect.apply(tell, emitter, [run]));
  } catch {
    // An emitter of the caller may throw on any access.
  }
}
