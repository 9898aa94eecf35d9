// Abort signals that are created only when they are read, with at most one listener on each signal of the caller. Also a timer that
// is cheap to push back.

import type { Clock } from "../types/common.ts";
import { dropPromise } from "../utils/promises.ts";

/** The functions to call when a signal is aborted. `tell` is the only listener on the signal, and calls these functions. */
interface Waiting {
  readonly calls: Set<() => void>;
  readonly tell: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls `call` when the signal is aborted. Returns a function that removes `call` again. Each signal gets at most one listener,
 * which is removed together with the last function.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  // A set keeps only one copy of a function, so each caller gets a new function.
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
  // Must come first: if the caller's signal throws here, nothing has been stored yet.
  dropPromise(signal.addEventListener("abort", tell));
  waiting.set(signal, made);
  return made;
}

/** Removes the listener. Errors are ignored, because a listener that remains has no effect. */
function letGo(signal: AbortSignal, tell: () => void): void {
  try {
    dropPromise(signal.removeEventListener("abort", tell));
  } catch {
    // A signal from the caller may throw.
  }
}

/** Calls one function. If the function throws, reports the error as uncaught, so that the next functions are still called. */
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

  /** The signal, which is created on the first access. If `abort` was called before, the new signal is already aborted. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason());
    }
    return this.#controller.signal;
  }

  /**
   * Aborts the signal. Later calls have no effect. `reason` is not called until the signal is read, because the signal is only
   * created then.
   */
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

/** Returns a signal for an SDK. Some SDKs never remove their listeners, so SDKs must not get the caller's own signal. */
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

/** The name of the method that the loop calls on an emitter when a run is over. All copies of the package use this name. */
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

/** When a run is over, calls the method `turnwright.run-closed` of an emitter, if it has one. Ignores errors of the method. */
export function tellClosed(emitter: object | undefined, run: ClosedRun): void {
  try {
    const tell: unknown = emitter === undefined ? undefined : Reflect.get(emitter, method);
    if (typeof tell === "function") dropPromise(Reflect.apply(tell, emitter, [run]));
  } catch {
    // An emitter from the caller may throw on any access.
  }
}

/** The longest possible delay of a timer, in milliseconds. A timer with a longer delay would fire immediately. */
export const longestTimerMs: number = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};

/** A timer whose due time can be changed often at low cost. All streams of a run share one such timer. */
export class IdleTimer {
  readonly #clock: Clock;
  #dueAt = Number.POSITIVE_INFINITY;
  #armedFor = Number.POSITIVE_INFINITY;
  #handle: unknown;
  #ring: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Sets the due time, and replaces an earlier one. The timer calls `ring` once at `dueAt`. With `Infinity`, it never fires. */
  set(dueAt: number, ring: () => void): void {
    this.#dueAt = dueAt;
    this.#ring = ring;
    if (dueAt < this.#armedFor) this.#arm();
  }

  /** Cancels the due time. The underlying timer may keep running until `stop` is called. */
  silence(): void {
    this.#dueAt = Number.POSITIVE_INFINITY;
  }

  /** Cancels the due time and releases the timer. */
  stop(): void {
    this.silence();
    if (this.#armedFor === Number.POSITIVE_INFINITY) return;
    this.#clock.clearTimeout(this.#handle);
    this.#armedFor = Number.POSITIVE_INFINITY;
  }

  #arm(): void {
    if (this.#armedFor !== Number.POSITIVE_INFINITY) this.#clock.clearTimeout(this.#handle);
    this.#armedFor = this.#dueAt;
    this.#handle = this.#clock.setTimeout(this.#fire, Math.max(1, this.#dueAt - this.#clock.now()));
  }

  readonly #fire = (): void => {
    this.#armedFor = Number.POSITIVE_INFINITY;
    if (this.#dueAt === Number.POSITIVE_INFINITY) return;
    if (this.#clock.now() < this.#dueAt) return this.#arm();
    this.silence();
    this.#ring();
  };
}
