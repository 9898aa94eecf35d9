// Races one promise of outside code against a time limit and the run's cancellation. All waiting for outside code goes through
// here. This is the only caller of p-timeout.

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

/** The limits of one race, in milliseconds; `Infinity` means none. */
export interface DeadlineLimits {
  readonly limitMs: number;
  /** Longest silence between two heartbeats. */
  readonly idleMs?: number | undefined;
  /** How long the work may go on after a stop or the wall clock. A kill or an abort does not wait. Default 0. */
  readonly settleMs?: number | undefined;
}

/** The timers of the platform, in the form of p-timeout. */
interface CustomTimers {
  setTimeout: typeof globalThis.setTimeout;
  clearTimeout: typeof globalThis.clearTimeout;
}

/** One deadline, which starts when it is created. Its signal fires when the race is lost. */
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

  /** Fires when the race stops waiting for the work. */
  get signal(): AbortSignal {
    return this.#lazySignal().signal;
  }

  /** Reports that the work is alive; restarts `idleMs`. */
  heartbeat(): void {
    this.#lastSign = this.#ports.clock.now();
  }

  /** Suspends `idleMs` until `work` is over, because `work` has limits of its own. */
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

  /** Marks the work as ended, if it needed no race. */
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

  /** True once the time is up, even if the work blocked the thread and no timer could fire. */
  get expired(): boolean {
    return this.#expired || this.elapsedMs() >= this.#limits.limitMs;
  }

  /** Waits for `work`; never rejects. `onLate` is called when work ends after the race stopped waiting for it. */
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
      // A thenable of outside code may throw from `then`, or call back twice.
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
      // A promise that is settled already is noticed in one tick, and needs no timer.
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
    // Counts from the creation of the deadline, because the work may have blocked the thread before it returned a promise.
    const milliseconds = Math.max(1, limitMs - this.elapsedMs());
    return pTimeout(outcome, { milliseconds, fallback: () => this.#expire(limitMs), customTimers: this.#timers() });
  }

  /** Stops waiting for the work: at once on a kill or an abort, else after `settleMs`. */
  cancel(cause: CancelReason): void {
    const { settleMs = 0 } = this.#limits;
    const atOnce = cause.kind === "kill" || cause.kind === "abort" || settleMs === 0;
    this.#lazySignal().abort(() => abortReasonOf(cause));
    const giveUp = (): void => this.#settle?.({ kind: "cancelled", cause });
    if (atOnce) giveUp();
    // Only the first cause starts this timer: a stop after the wall clock grants no second grace period.
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

  /** p-timeout arms one timer. If silence is limited too, a second one runs for it. */
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

/** The longest delay of a timer, in milliseconds. Timers with a longer delay fire at once. */
export const longestTimerMs: number = 2 ** 31 - 1;

/** The platform's clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  setTimeout: (fn, ms) => setTimeout(fn, ms),
  clearTimeout: (handle) => clearTimeout(handle as ReturnType<typeof setTimeout>),
};

/** Fires once when the latest due time has come. Shared by the streams of a run, one after the other. */
export class IdleTimer {
  readonly #clock: Clock;
  #dueAt = Number.POSITIVE_INFINITY;
  #armedFor = Number.POSITIVE_INFINITY;
  #handle: unknown;
  #ring: () => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Fires at `dueAt`, which replaces an earlier one. `Infinity` never fires. */
  set(dueAt: number, ring: () => void): void {
    this.#dueAt = dueAt;
    this.#ring = ring;
    if (dueAt < this.#armedFor) this.#arm();
  }

  /** Cancels the due time. The timer may stay until `stop`. */
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

/** Most consecutive items without content before the event loop gets a turn. */
const most = 256;

/** Counts consecutive items without content. A stream of them that never waits would block every timer of the process. */
export class Lull {
  #count = 0;

  /** Returns a promise of one turn of the event loop once in a while, else undefined. */
  note(hasContent: boolean): Promise<void> | undefined {
    this.#count = hasContent ? 0 : this.#count + 1;
    if (this.#count < most) return undefined;
    this.#count = 0;
    return new Promise((resolve) => void globalThis.setTimeout(resolve, 0));
  }
}
