// Limits how long user code may run. Such code may ignore its signal, so the loop stops waiting after a grace period.

import pTimeout from "p-timeout";
import { IdleTimer, never } from "../signals.ts";
import { Lull } from "../promises.ts";
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
  /** The maximum time between two calls to `heartbeat`, in milliseconds. Default: no limit. */
  readonly idleMs?: number | undefined;
  /**
   * How long `race` keeps waiting for the work after the run is cancelled, in milliseconds. After a kill or an abort, `race`
   * does not wait. Default 0.
   */
  readonly toolCleanupMs?: number | undefined;
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

/** The time limit for one piece of work, such as a tool call. The clock starts when the `Deadline` is created. */
export class Deadline implements Cancellable {
  /** True once `end` has been called, or `race` has ended without a value. */
  isOver: boolean;
  readonly limits: DeadlineLimits;
  readonly #ports: DeadlinePorts;
  readonly #startedAt: number;
  #controller: AbortController | undefined;
  /** The time at which the time limit (`#dueAt`) or the limit on silence (`#idleAt`) expires. Infinity while that limit is paused. */
  #dueAt: number;
  #idleAt: number;
  #holds = 0;
  #pauses = 0;
  /** The time that is left after a pause. */
  #leftMs = 0;
  #expired = false;
  #end: ((raced: Raced<never>) => void) | undefined;
  /** How and when the race ends if cancelled work does not end in time. */
  #cancelled: Raced<never> | undefined;
  #giveUpAt = never;
  /** Called when the time limit expires. */
  #ring: (() => void) | undefined;
  /** The timer for the time limit, the limit on silence, and the end of `toolCleanupMs`. Set while `race` waits. */
  #alarm: IdleTimer | undefined;

  constructor(limits: DeadlineLimits, ports: DeadlinePorts) {
    this.isOver = false;
    this.limits = limits;
    this.#ports = ports;
    const now = ports.clock.now();
    this.#startedAt = now;
    this.#dueAt = now + limits.limitMs;
    this.#idleAt = now + (limits.idleMs ?? never);
  }

  get signal(): AbortSignal {
    return this.#lazyController().signal;
  }

  #lazyController(): AbortController {
    return (this.#controller ??= new AbortController());
  }

  heartbeat(): void {
    if (this.#holds === 0) this.#idleAt = this.#ports.clock.now() + (this.limits.idleMs ?? never);
  }

  /**
   * Pauses the limit on silence until the returned function is called. Use it while something else limits how long the work may take. With
   * `isPaused`, also pauses the time limit, for example while a call waits for a person.
   */
  hold(isPaused: boolean): () => void {
    const { clock } = this.#ports;
    const pauses = isPaused ? 1 : 0;
    if (isPaused && this.#pauses === 0) {
      this.#leftMs = this.#dueAt - clock.now();
      this.#dueAt = never;
    }
    this.#pauses += pauses;
    this.#holds += 1;
    this.#idleAt = never;
    return () => {
      this.#holds -= 1;
      this.#pauses -= pauses;
      if (isPaused && this.#pauses === 0) this.#dueAt = clock.now() + this.#leftMs;
      this.heartbeat();
      this.#arm();
    };
  }

  #arm(): void {
    this.#alarm?.set(Math.min(this.#dueAt, this.#idleAt, this.#giveUpAt), this.#onDue);
  }

  readonly #onDue = (): void => {
    const now = this.#ports.clock.now();
    if (now >= this.#giveUpAt && this.#cancelled !== undefined) this.#end?.(this.#cancelled);
    else if (now >= this.#dueAt) this.#ring?.();
    else if (now >= this.#idleAt) this.expire(this.limits.idleMs ?? never);
    else this.#arm();
  };

  /** Marks the work as finished. Returns the time since the start, in milliseconds. */
  end(): number {
    this.isOver = true;
    return this.#ports.clock.now() - this.#startedAt;
  }

  /** True if the time limit has expired, even if no timer could fire because the work blocked the thread. */
  get expired(): boolean {
    return this.#expired || this.#ports.clock.now() >= this.#dueAt;
  }

  /** Waits for `work`, and never rejects. Calls `onLate` if `work` ends after `race` has stopped waiting. */
  async race<T>(work: PromiseLike<T>, onLate?: (success: boolean) => void): Promise<Raced<T>> {
    const { scope, clock } = this.#ports;
    let ended: Raced<T> | undefined;
    const outcome = new Promise<Raced<T>>((resolve) => {
      const end = (raced: Raced<T>): void => {
        if (raced.kind !== "value") this.isOver = true;
        ended = raced;
        resolve(raced);
      };
      const settle = (raced: Raced<T>): void => {
        const { cause } = scope;
        if (this.isOver || cause !== undefined) onLate?.(raced.kind === "value");
        end(cause === undefined ? raced : { kind: "cancelled", cause });
      };
      this.#end = end;
      work.then(
        (value) => settle({ kind: "value", value }),
        (error: unknown) => settle({ kind: "thrown", error }),
      );
    });
    scope.join(this);
    if (scope.cause !== undefined) this.cancel(scope.cause);
    try {
      // Waits one microtask, so that no timer is set if `work` has already settled.
      await Promise.resolve();
      if (ended !== undefined) return ended;
      const { limitMs } = this.limits;
      this.#alarm = new IdleTimer(clock);
      const raced = pTimeout(outcome, {
        milliseconds: Math.max(1, limitMs),
        fallback: () => this.#expire(limitMs),
        customTimers: {
          setTimeout: (ring: () => void) => void (this.#ring = ring),
          clearTimeout: () => {},
        } as unknown as CustomTimers,
      });
      this.#arm();
      return await raced;
    } finally {
      scope.leave(this);
      this.#alarm?.stop();
      this.#alarm = undefined;
    }
  }

  /**
   * Reads a generator to its end. Resolves to the return value, or to the last yielded value if the return value is undefined.
   * Each yield is a heartbeat. Rejects if the work is cancelled or its time has expired.
   */
  async read(generator: Steps, onYield: (value: unknown) => void): Promise<unknown> {
    const lull = new Lull();
    let last: unknown;
    try {
      while (!this.#isDead()) {
        const { done, value: given } = await generator.next();
        const value = await given;
        if (done === true) return value === undefined ? last : value;
        if (this.#isDead()) break;
        this.heartbeat();
        onYield(value);
        last = value ?? last;
        await lull.note(false);
      }
      throw new Error("The call has ended.");
    } finally {
      // Calls the iterator's `return` inside a promise chain, so that an error it throws can be ignored.
      Promise.resolve()
        .then(() => generator.return())
        .catch(() => {});
    }
  }

  #isDead(): boolean {
    const { clock, scope } = this.#ports;
    // Checks the deadline here, because timers cannot fire while a generator yields without waiting.
    scope.checkDeadline(clock.now());
    return this.isOver || this.expired || scope.cause !== undefined;
  }

  /** Ends `race` now, because a part of the work took longer than `limitMs`. */
  expire(limitMs: number): void {
    this.#end?.(this.#expire(limitMs));
  }

  #expire(limitMs: number): Raced<never> {
    this.#expired = true;
    this.isOver = true;
    this.#lazyController().abort(new DOMException(`Took longer than ${limitMs} ms.`, "TimeoutError"));
    return { kind: "expired", limitMs };
  }

  cancel(cause: CancelReason): void {
    const { toolCleanupMs = 0 } = this.limits;
    this.#lazyController().abort(abortReasonOf(cause));
    const end = { kind: "cancelled", cause } as const;
    if (cause.kind === "kill" || cause.kind === "abort" || toolCleanupMs === 0) return this.#end?.(end);
    // Only the first cancellation counts, so that a stop after an expired time limit does not extend the time that code has to finish.
    if (this.#cancelled !== undefined) return;
    this.#cancelled = end;
    this.#giveUpAt = this.#ports.clock.now() + toolCleanupMs;
    this.#arm();
  }
}
