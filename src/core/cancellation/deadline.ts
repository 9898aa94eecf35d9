// Races a promise from code outside the package against a time limit and the cancellation of the run. This file is the only
// caller of p-timeout.

import pTimeout from "p-timeout";
import { LazySignal } from "./signals.ts";
import { abortReasonOf, type Cancellable, type CancelReason, type CancelScope } from "./cancel-scope.ts";
import type { Clock } from "../types/common.ts";

/** How a race ended. */
export type Raced<T> =
  | { readonly kind: "value"; readonly value: T }
  | { readonly kind: "thrown"; readonly error: unknown }
  | { readonly kind: "expired"; readonly limitMs: number }
  | { readonly kind: "cancelled"; readonly cause: CancelReason };

/** The clock and the cancellation of a race. */
export interface DeadlinePorts {
  readonly clock: Clock;
  readonly scope: CancelScope;
}

/** The limits of one race, in milliseconds. `Infinity` means no limit. */
export interface DeadlineLimits {
  readonly limitMs: number;
  /** The longest time between two heartbeats. Default: no limit. */
  readonly idleMs?: number | undefined;
  /**
   * How long the work may continue after a stop or after its time limit. After a kill or an abort, the work cannot
   * continue. Default 0.
   */
  readonly settleMs?: number | undefined;
}

interface CustomTimers {
  setTimeout: typeof globalThis.setTimeout;
  clearTimeout: typeof globalThis.clearTimeout;
}

/** A deadline for one piece of work. The time counts from the creation of this object. */
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

  constructor(limits: DeadlineLimits, ports: DeadlinePorts) {
    this.#limits = limits;
    this.#ports = ports;
    this.#startedAt = ports.clock.now();
    this.#lastSign = this.#startedAt;
  }

  /** Aborted when the work is cancelled or its time has expired. */
  get signal(): AbortSignal {
    return this.#lazySignal().signal;
  }

  /** Reports that the work is alive, which restarts `idleMs`. */
  heartbeat(): void {
    this.#lastSign = this.#ports.clock.now();
  }

  /** Suspends `idleMs` until `work` has ended, because `work` has its own time limits. */
  holdWhile(work: PromiseLike<unknown>): void {
    this.#holds += 1;
    const letGo = (): void => {
      this.#holds -= 1;
      this.heartbeat();
    };
    work.then(letGo, letGo);
  }

  elapsedMs(): number {
    return this.#ports.clock.now() - this.#startedAt;
  }

  /** Marks the work as ended. Called directly for work that needed no race. */
  end(): void {
    this.#over = true;
  }

  /** True once the work has ended, or the race stopped waiting for it. */
  get isOver(): boolean {
    return this.#over;
  }

  get limitMs(): number {
    return this.#limits.limitMs;
  }

  /** True if the time has expired. Also correct if the work blocked the thread, so that no timer could fire. */
  get expired(): boolean {
    return this.#expired || this.elapsedMs() >= this.#limits.limitMs;
  }

  /** Waits for `work`. Never rejects. `onLate` is called if `work` ends after the race has stopped waiting. */
  async race<T>(work: PromiseLike<T>, onLate?: (success: boolean) => void): Promise<Raced<T>> {
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
      // A thenable from outside the package may throw in `then`, or call its callbacks twice.
      try {
        Promise.resolve(work).then(
          (value) => settle({ kind: "value", value }),
          (error: unknown) => settle({ kind: "thrown", error }),
        );
      } catch (error) {
        settle({ kind: "thrown", error });
      }
    });
    scope.join(this);
    if (scope.cause !== undefined) this.cancel(scope.cause);
    try {
      // A promise that is already settled is noticed here, in one tick, and needs no timer.
      await Promise.resolve();
      return ended ?? (await this.#raceTime(outcome));
    } finally {
      this.end();
      scope.leave(this);
      this.#clearSettleTimer();
    }
  }

  #raceTime<T>(outcome: Promise<Raced<T>>): Promise<Raced<T>> {
    const { limitMs } = this.#limits;
    // Subtracts the elapsed time, because the work may have blocked the thread before it returned a promise.
    const milliseconds = Math.max(1, limitMs - this.elapsedMs());
    return pTimeout(outcome, { milliseconds, fallback: () => this.#expire(limitMs), customTimers: this.#timers() });
  }

  /** Stops waiting for the work: immediately after a kill or an abort, and after `settleMs` for other causes. */
  cancel(cause: CancelReason): void {
    const { settleMs = 0 } = this.#limits;
    const atOnce = cause.kind === "kill" || cause.kind === "abort" || settleMs === 0;
    this.#lazySignal().abort(() => abortReasonOf(cause));
    const giveUp = (): void => this.#settle?.({ kind: "cancelled", cause });
    if (atOnce) giveUp();
    // Only the first cause starts this timer. A stop after an expired time limit does not start a second grace period.
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

  /** Makes the timer functions for p-timeout. If `idleMs` is set, they also start and stop the timer for silence. */
  #timers(): CustomTimers {
    const { clock } = this.#ports;
    const idle = this.#watchSilence();
    return {
      setTimeout: (fn: () => void, ms: number) => clock.setTimeout(fn, ms),
      clearTimeout: (handle: unknown) => {
        idle?.stop();
        if (handle !== undefined) clock.clearTimeout(handle);
      },
    } as CustomTimers;
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

/** The longest delay of a timer, in milliseconds. Timers with a longer delay would fire immediately. */
export const longestTimerMs: number = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};

/** A timer whose due time can be moved often and cheaply. The streams of a run share one such timer. */
export class IdleTimer {
  readonly #clock: Clock;
  #dueAt = Number.POSITIVE_INFINITY;
  #armedFor = Number.POSITIVE_INFINITY;
  #handle: unknown;
  #ring: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Calls `ring` once at the time `dueAt`, which replaces an earlier due time. Never calls it for `Infinity`. */
  set(dueAt: number, ring: () => void): void {
    this.#dueAt = dueAt;
    this.#ring = ring;
    if (dueAt < this.#armedFor) this.#arm();
  }

  /** Cancels the due time. The underlying timer may remain until `stop` is called. */
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

/** After this many consecutive items without content, the event loop gets a turn. */
const most = 256;

/** Counts consecutive items without content. A stream of such items that never waits would block all timers of the process. */
export class Lull {
  #count = 0;

  /** Counts an item. After every 256 items without content, returns a promise that resolves after a turn of the event loop. */
  note(hasContent: boolean): Promise<void> | undefined {
    this.#count = hasContent ? 0 : this.#count + 1;
    if (this.#count < most) return undefined;
    this.#count = 0;
    return new Promise((resolve) => void globalThis.setTimeout(resolve, 0));
  }
}
