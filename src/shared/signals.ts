// Helpers for abort signals, clocks and timers.

import type { Clock } from "../core/types/common.ts";

/** A time that never comes, and a limit that is never reached. */
export const never: number = Number.POSITIVE_INFINITY;

interface Listening {
  readonly calls: Set<() => void>;
  handleEvent(): void;
}

const listening = new WeakMap<AbortSignal, Listening>();

/**
 * Calls `call` when the signal is aborted. Returns a function that removes `call`. All functions for the same signal share one
 * listener, because Node warns about more than 10 listeners. When no function is left, the listener is removed.
 */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  const known = listening.get(signal) ?? listen(signal);
  known.calls.add(call);
  return () => {
    known.calls.delete(call);
    if (known.calls.size > 0 || listening.get(signal) !== known) return;
    listening.delete(signal);
    signal.removeEventListener("abort", known);
  };
}

function listen(signal: AbortSignal): Listening {
  const calls: Listening["calls"] = new Set();
  const made = {
    calls,
    handleEvent: (): void => {
      for (const call of [...calls]) if (calls.has(call)) call();
    },
  };
  signal.addEventListener("abort", made);
  listening.set(signal, made);
  return made;
}

export interface FollowingSignal {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  release(): void;
}

/**
 * Returns a signal that aborts with the first of the given signals. SDKs receive it instead of the caller's signal, because some of them
 * never remove their listeners. Does not use `AbortSignal.any`, which Node 20.0 lacks, and which would make a long-lived signal keep part
 * of each derived signal in memory.
 */
export function followSignal(...given: readonly (AbortSignal | undefined)[]): FollowingSignal {
  const own = new AbortController();
  const signals = given.filter((signal) => signal !== undefined);
  const releases = signals.map((signal) => onAbort(signal, () => own.abort(signal.reason)));
  const aborted = signals.find((signal) => signal.aborted);
  if (aborted !== undefined) own.abort(aborted.reason);
  return {
    signal: own.signal,
    abort: (reason) => own.abort(reason),
    release: () => {
      for (const release of releases) release();
    },
  };
}

/** Waits for a promise that may never settle. Rejects when the signal aborts, with the signal's reason or the error from `toError`. */
export function untilAborted<T>(
  promise: PromiseLike<T>,
  signal: AbortSignal,
  toError: () => unknown = () => signal.reason,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(toError());
    const forget = onAbort(signal, giveUp);
    if (signal.aborted) giveUp();
    promise.then(resolve, reject).then(forget);
  });
}

/** The maximum delay of a timer, in milliseconds. A timer with a longer delay would fire immediately. */
export const maxTimerMs: number = 2_147_483_647;

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};

/**
 * A timer that can be postponed often at low cost. Postponing changes only the due time. If the underlying timer fires before the
 * due time, it is set again.
 */
export class IdleTimer {
  readonly #clock: Clock;
  #dueAt = never;
  #armedFor = never;
  #handle: unknown;
  #ring: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `ring` once at `dueAt`. Replaces the time and the function from the previous call. With `Infinity`, `ring` is never called. */
  set(dueAt: number, ring: () => void): void {
    this.#dueAt = dueAt;
    this.#ring = ring;
    if (dueAt < this.#armedFor) this.#arm();
  }

  /** Clears the due time, but keeps the underlying timer, so that `set` is cheap. Call `stop` when done. */
  silence(): void {
    this.#dueAt = never;
  }

  stop(): void {
    this.silence();
    this.#armedFor = never;
    if (this.#handle !== undefined) this.#clock.clearTimeout(this.#handle);
  }

  #arm(): void {
    if (this.#handle !== undefined) this.#clock.clearTimeout(this.#handle);
    this.#armedFor = this.#dueAt;
    this.#handle = this.#clock.setTimeout(this.#fire, Math.max(1, this.#dueAt - this.#clock.now()));
  }

  readonly #fire = (): void => {
    this.#armedFor = never;
    if (this.#dueAt === never) return;
    if (this.#clock.now() < this.#dueAt) return this.#arm();
    this.silence();
    this.#ring?.();
  };
}
