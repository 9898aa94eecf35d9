// Limits the time of code outside the package. Such code may ignore its signal, so the loop stops waiting after a grace period.

import pTimeout from "p-timeout";
import { IdleTimer, LazySignal, onAbort } from "../signals.ts";
import { dropPromise, Lull } from "../promises.ts";
import { abortReasonOf, type Cancellable, type CancelReason, type CancelScope } from "./cancel-scope.ts";
import type { Clock } from "../../core/types/common.ts";

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
  /** Stops waiting for cancelled work. */
  #giveUp: (() => void) | undefined;
  #giveUpAt = Number.POSITIVE_INFINITY;
  #expired = false;
  #over = false;
  #pauses = 0;
  #pausedAt = 0;
  #pausedMs = 0;
  /** Called when the time limit expires. */
  #ring: (() => void) | undefined;
  /** Set while `race` waits. Rings for the time limit, the idle limit, and the end of `settleMs`. */
  #alarm: IdleTimer | undefined;

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
      this.#arm();
    };
    work.then(letGo, letGo);
  }

  /** Pauses the time limit and the idle limit until the returned function is called. Used while a call waits for a person. */
  pause(): () => void {
    const { clock } = this.#ports;
    if (this.#pauses === 0) this.#pausedAt = clock.now();
    this.#pauses += 1;
    this.#holds += 1;
    return () => {
      this.#holds -= 1;
      this.#pauses -= 1;
      this.heartbeat();
      if (this.#pauses === 0) this.#pausedMs += clock.now() - this.#pausedAt;
      this.#arm();
    };
  }

  #arm(): void {
    if (this.#over) return;
    const { limitMs, idleMs = Number.POSITIVE_INFINITY } = this.#limits;
    const limitAt = this.#pauses > 0 ? Number.POSITIVE_INFINITY : this.#startedAt + this.#pausedMs + limitMs;
    const idleAt = this.#holds > 0 ? Number.POSITIVE_INFINITY : this.#lastSign + idleMs;
    this.#alarm?.set(Math.min(limitAt, idleAt, this.#giveUpAt), this.#onDue);
  }

  readonly #onDue = (): void => {
    const now = this.#ports.clock.now();
    const { limitMs, idleMs = Number.POSITIVE_INFINITY } = this.#limits;
    if (now >= this.#giveUpAt) this.#giveUp?.();
    else if (this.#pauses === 0 && this.#usedMs() >= limitMs) this.#ring?.();
    else if (this.#holds === 0 && now >= this.#lastSign + idleMs) this.#settle?.(this.#expire(idleMs));
    else this.#arm();
  };

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
      this.#alarm?.stop();
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
    this.#alarm = new IdleTimer(this.#ports.clock);
    const raced = pTimeout(outcome, {
      milliseconds: Math.max(1, limitMs),
      fallback: () => this.#expire(limitMs),
      customTimers: {
        setTimeout: (ring: () => void) => void (this.#ring = ring),
        clearTimeout: () => {},
      } as unknown as CustomTimers,
    });
    this.#arm();
    return raced;
  }

  cancel(cause: CancelReason): void {
    const { settleMs = 0 } = this.#limits;
    const atOnce = cause.kind === "kill" || cause.kind === "abort" || settleMs === 0;
    this.#lazySignal().abort(() => abortReasonOf(cause));
    const giveUp = (): void => this.#settle?.({ kind: "cancelled", cause });
    if (atOnce) return giveUp();
    // Only the first cancellation counts, so that a stop after an expired time limit does not extend the wait.
    if (this.#giveUp !== undefined) return;
    this.#giveUp = giveUp;
    this.#giveUpAt = this.#ports.clock.now() + settleMs;
    this.#arm();
  }

  #lazySignal(): LazySignal {
    this.#signal ??= new LazySignal();
    return this.#signal;
  }

  #expire(limitMs: number): Raced<never> {
    this.#expired = true;
    this.#lazySignal().abort(() => new DOMException(`Took longer than ${limitMs} ms.`, "TimeoutError"));
    return { kind: "expired", limitMs };
  }
}
