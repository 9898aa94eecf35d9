// Limits the time of code outside the package. Such code may ignore its signal, so the loop stops waiting after a grace period.

import pTimeout from "p-timeout";
import { IdleTimer, LazySignal, onAbort } from "./signals.ts";
import { dropPromise, Lull } from "../utils/promises.ts";
import { abortReasonOf, type Cancellable, type CancelReason, type CancelScope } from "./cancel-scope.ts";
import type { Clock } from "../types/common.ts";

export type Raced<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "thrown"; readonly error: unknown }
  | { readonly kind: "expired"; readonly limitMs: number }
  | { readonly kind: "cancelled"; readonly cause: CancelReason };

export interface DeadlinePorts {
  readonly clock: Clock;
  readonly scope: CancelScope;
}

export interface DeadlineLimits {
  readonly limitMs: number;
  /** The maximum time between two calls of `heartbeat`. Default: no limit. */
  readonly idleMs?: number | undefined;
  /**
   * How long `race` still waits for the work after the run was cancelled, in milliseconds. After a kill or an abort, `race`
   * does not wait. Default 0.
   */
  readonly settleMs?: number | undefined;
}

interface CustomTimers {
  setTimeout: typeof globalThis.setTimeout;
  clearTimeout: typeof globalThis.clearTimeout;
}

export interface Steps {
  next(): Step | PromiseLike<Step>;
  return(): unknown;
}

interface Step {
  readonly done?: boolean;
  readonly value: unknown;
}

/** The time limit for one piece of work, such as a tool call. The time starts when the `Deadline` is created. */
export class Deadline implements Cancellable {
  readonly #ports: DeadlinePorts;
  readonly #limits: DeadlineLimits;
  #signal: LazySignal | undefined;
  readonly #startedAt: number;
  #lastSign: number;
  #holds = 0;
  #settle: ((end: Raced<never>) => void) | undefined;
  #settleTimer: unknown;
  #expired = false;
  #over = false;
  #pauses = 0;
  #pausedAt = 0;
  #pausedMs = 0;
  #limitTimer: { readonly ring: () => void; handle: unknown } | undefined;

  constructor(limits: DeadlineLimits, ports: DeadlinePorts) {
    this.#limits = limits;
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
    this.#lastSign = this.#startedAt;
  }

  get signal(): AbortSignal {
    return this.#lazySignal().signal;
  }

  heartbeat(): void {
    this.#lastSign = this.#ports.clock.now();
  }

  /** Pauses the idle limit while `work` runs, because `work` has time limits of its own. */
  holdWhile(work: PromiseLike<unknown>): void {
    this.#holds += 1;
    const letGo = (): void => {
      this.#holds -= 1;
      this.heartbeat();
    };
    work.then(letGo, letGo);
  }

  /** Pauses the time limit and the idle limit until the returned function is called. Used while a call waits for a person. */
  pause(): () => void {
    const { clock } = this.#ports;
    if (this.#pauses === 0) this.#pausedAt = clock.now();
    this.#pauses += 1;
    this.#holds += 1;
    if (this.#limitTimer !== undefined) clock.clearTimeout(this.#limitTimer.handle);
    return () => {
      this.#holds -= 1;
      this.#pauses -= 1;
      this.heartbeat();
      if (this.#pauses > 0) return;
      this.#pausedMs += clock.now() - this.#pausedAt;
      this.#armLimit();
    };
  }

  #armLimit(): void {
    const timer = this.#limitTimer;
    if (timer === undefined || this.#over || this.#pauses > 0) return;
    timer.handle = this.#ports.clock.setTimeout(timer.ring, Math.max(1, this.#limits.limitMs - this.#usedMs()));
  }

  #usedMs(): number {
    const now = this.#pauses > 0 ? this.#pausedAt : this.#ports.clock.now();
    return now - this.#startedAt - this.#pausedMs;
  }

  elapsedMs(): number {
    return this.#ports.clock.now() - this.#startedAt;
  }

  /** Marks the work as ended. `race` calls this method itself, so callers need it only for work that was not passed to `race`. */
  end(): void {
    this.#over = true;
  }

  /** True after the work has ended, or after `race` has stopped waiting for it. */
  get isOver(): boolean {
    return this.#over;
  }

  get limitMs(): number {
    return this.#limits.limitMs;
  }

  /** True if the time limit has expired, even if no timer could fire because the work blocked the thread. */
  get expired(): boolean {
    return this.#expired || this.#usedMs() >= this.#limits.limitMs;
  }

  /**
   * Waits for `work`, and never rejects. Calls `onLate` if `work` ends after `race` has stopped waiting. `follow` gets the
   * value of `work`. If `follow` returns a promise, `race` also waits for that promise, which then decides the outcome.
   * `follow` must not throw.
   */
  async race<T>(
    work: PromiseLike<T>,
    onLate?: (success: boolean) => void,
    follow?: (value: T) => Promise<T> | undefined,
  ): Promise<Raced<T>> {
    const { scope } = this.#ports;
    let ended: Raced<T> | undefined;
    const outcome = new Promise<Raced<T>>((resolve) => {
      const end = (raced: Raced<T>): void => {
        ended = raced;
        resolve(raced);
      };
      this.#settle = end;
      const settle = (raced: Raced<T>): void => {
        const { cause } = scope;
        if (this.#over || cause !== undefined) onLate?.(raced.kind === "value");
        end(cause === undefined ? raced : { kind: "cancelled", cause });
      };
      const take = (value: T): void => settle({ kind: "value", value });
      const fail = (error: unknown): void => settle({ kind: "thrown", error });
      work.then((value) => {
        const rest = follow?.(value);
        if (rest === undefined) take(value);
        else rest.then(take, fail);
      }, fail);
    });
    scope.join(this);
    if (scope.cause !== undefined) this.cancel(scope.cause);
    try {
      // Waits one microtask, so that no timer is set if `work` is already resolved or rejected.
      await Promise.resolve();
      return ended ?? (await this.#raceTime(outcome));
    } finally {
      this.end();
      scope.leave(this);
      this.#clearSettleTimer();
    }
  }

  /**
   * Reads a generator to its end. Resolves to the return value, or to the last yielded value if the return value is undefined.
   * Each yield is a heartbeat. Rejects if the work is cancelled or its time has expired. `read` then closes the generator, but
   * does not wait until the generator is closed.
   */
  async read(generator: Steps, onYield: (value: unknown) => void): Promise<unknown> {
    const lull = new Lull();
    let last: unknown;
    let isClosed = false;
    const close = (): void => {
      if (isClosed) return;
      isClosed = true;
      try {
        dropPromise(generator.return());
      } catch {
        // If `return` fails, there is no other way to close the generator.
      }
    };
    // Closes the generator in a microtask, because the code that cancels the work may run inside the generator, and a running
    // generator cannot be closed.
    const forget = onAbort(this.signal, () => queueMicrotask(close));
    try {
      while (!this.#isDead()) {
        const { done, value: given } = await generator.next();
        const value = await given;
        if (done === true) {
          isClosed = true;
          return value === undefined ? last : value;
        }
        if (this.#isDead()) break;
        this.heartbeat();
        onYield(value);
        last = value ?? last;
        await lull.note(false);
      }
      throw new Error("The call has ended.");
    } finally {
      forget();
      close();
    }
  }

  #isDead(): boolean {
    const { clock, scope } = this.#ports;
    // Checks the time limit here, because timers cannot fire while a generator yields without waiting.
    scope.checkDeadline(clock.now());
    return this.#over || this.expired || scope.cause !== undefined;
  }

  /** Ends `race` now, because a part of the work took longer than `limitMs`. */
  expire(limitMs: number): void {
    this.#settle?.(this.#expire(limitMs));
  }

  #raceTime<T>(outcome: Promise<Raced<T>>): Promise<Raced<T>> {
    const { limitMs } = this.#limits;
    // Subtracts the elapsed time, because the work may have blocked the thread before it returned a promise.
    const milliseconds = Math.max(1, limitMs - this.#usedMs());
    return pTimeout(outcome, { milliseconds, fallback: () => this.#expire(limitMs), customTimers: this.#timers() });
  }

  cancel(cause: CancelReason): void {
    const { settleMs = 0 } = this.#limits;
    const atOnce = cause.kind === "kill" || cause.kind === "abort" || settleMs === 0;
    this.#lazySignal().abort(() => abortReasonOf(cause));
    const giveUp = (): void => this.#settle?.({ kind: "cancelled", cause });
    if (atOnce) giveUp();
    // Only the first cancellation starts this timer, so that a stop after an expired time limit does not extend the wait.
    else if (settleMs !== Number.POSITIVE_INFINITY) this.#settleTimer ??= this.#ports.clock.setTimeout(giveUp, settleMs);
  }

  #lazySignal(): LazySignal {
    this.#signal ??= new LazySignal();
    return this.#signal;
  }

  #clearSettleTimer(): void {
    if (this.#settleTimer !== undefined) this.#ports.clock.clearTimeout(this.#settleTimer);
    this.#settleTimer = undefined;
  }

  #expire(limitMs: number): Raced<never> {
    this.#expired = true;
    this.#lazySignal().abort(() => new DOMException(`Took longer than ${limitMs} ms.`, "TimeoutError"));
    return { kind: "expired", limitMs };
  }

  #timers(): CustomTimers {
    const { clock } = this.#ports;
    const idle = this.#watchSilence();
    return {
      setTimeout: (ring: () => void) => {
        this.#limitTimer = { ring, handle: undefined };
        this.#armLimit();
      },
      clearTimeout: () => {
        idle?.stop();
        if (this.#limitTimer !== undefined) clock.clearTimeout(this.#limitTimer.handle);
      },
    } as unknown as CustomTimers;
  }

  #watchSilence(): IdleTimer | undefined {
    const { clock } = this.#ports;
    const { idleMs } = this.#limits;
    if (idleMs === undefined || idleMs === Number.POSITIVE_INFINITY) return undefined;
    const alarm = new IdleTimer(clock);
    const ring = (): void => {
      if (this.#holds > 0) this.heartbeat();
      const dueAt = this.#lastSign + idleMs;
      if (clock.now() < dueAt) alarm.set(dueAt, ring);
      else this.#settle?.(this.#expire(idleMs));
    };
    alarm.set(this.#lastSign + idleMs, ring);
    return alarm;
  }
}
