// Cancels everything that is waiting in a run. Waiting objects join the run's scope, which is faster than adding abort listeners to the
// caller's signal and cannot leak listeners.

import type { Clock, Json, PlainError } from "../../core/types/common.ts";
import type { UserMessage } from "../../core/types/message.ts";
import { IdleTimer, never, onAbort } from "../signals.ts";
import type { EndReason } from "../../core/types/termination.ts";
import { assertNever } from "../guards.ts";
import { tidyMessage, toPlainError } from "../plain-error.ts";
import { toJson } from "../json.ts";

/** The reason why a run was cancelled: its time limit expired, or something outside the loop cancelled it. */
export type CancelReason =
  /** `reason` becomes the abort reason of the run's signals. Default: a TimeoutError that says the run took too long. */
  | { readonly kind: "wall-clock"; readonly limitMs: number; readonly reason?: unknown }
  | { readonly kind: "interrupt"; readonly message: UserMessage }
  | { readonly kind: "stop"; readonly requester?: string | undefined; readonly note?: string | undefined }
  | { readonly kind: "kill" }
  | { readonly kind: "abort"; readonly reason: unknown };

/** An object that waits for code outside the package, and stops waiting when `cancel` is called. */
export interface Cancellable {
  cancel(cause: CancelReason): void;
  /** True for an object, such as a nested run, that must stop when the time reserved for the final answer begins. */
  readonly leavesReserve?: true | undefined;
}

/**
 * The rank of each reason. If a run is cancelled twice, the reason with the higher rank counts, or the first reason if the ranks are
 * equal.
 */
const rank: { readonly [Kind in CancelReason["kind"]]: number } = { "wall-clock": 1, interrupt: 2, stop: 3, kill: 4, abort: 4 };

/** Cancels one run: `cancel` stops everything in the run that is waiting. Each run has one scope. */
export class CancelScope implements Cancellable {
  /** The highest-ranking reason for which the run has been cancelled so far. Undefined if it has not been cancelled. */
  cause: CancelReason | undefined;
  readonly leavesReserve: true | undefined;
  readonly #slots = new Set<Cancellable>();
  /** The expired time limit, which applies again after `withdrawInterrupt`. */
  #expired: CancelReason | undefined;
  #limitMs = never;
  #deadlineAt = never;
  #reserveAt = never;
  #timer: IdleTimer | undefined;
  readonly #undo: (() => void)[] = [];
  readonly #outer: CancelScope | undefined;
  readonly #reserveMs: number;

  /**
   * @param outer the scope of the outer run, whose time limit also applies to this run
   * @param reserveMs the time at the end of the time limit that is reserved for a final answer, in milliseconds. Only runs have one.
   */
  constructor(outer?: CancelScope, reserveMs?: number) {
    this.#outer = outer;
    this.#reserveMs = reserveMs ?? 0;
    this.leavesReserve = reserveMs === undefined ? undefined : true;
  }

  /** The number of waiting objects. It is 0 once a run is over. */
  get size(): number {
    return this.#slots.size;
  }

  get hasWallClock(): boolean {
    return this.#timer !== undefined;
  }

  join(slot: Cancellable): void {
    this.#slots.add(slot);
  }

  leave(slot: Cancellable): void {
    this.#slots.delete(slot);
  }

  /** Cancels everything that is waiting, unless the run was already cancelled for a reason with an equal or higher rank. */
  cancel(cause: CancelReason): void {
    if (cause.kind === "wall-clock") this.#expired ??= cause;
    if (this.cause !== undefined && rank[this.cause.kind] >= rank[cause.kind]) return;
    this.cause = cause;
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }

  /** Removes an interrupt that arrived too late to end the run. */
  withdrawInterrupt(): void {
    if (this.cause?.kind === "interrupt") this.cause = this.#expired;
  }

  /** Lets the outer scope and the given signals cancel this scope until it is released. */
  follow(...signals: readonly (AbortSignal | undefined)[]): void {
    const outer = this.#outer;
    if (outer !== undefined) {
      outer.join(this);
      this.#undo.push(() => outer.leave(this));
      if (outer.cause !== undefined) this.cancel(outer.cause);
    }
    for (const signal of signals) {
      if (signal === undefined) continue;
      const abort = (): void => this.cancel({ kind: "abort", reason: signal.reason });
      if (signal.aborted) abort();
      this.#undo.push(onAbort(signal, abort));
    }
  }

  /**
   * Returns a scope that both this scope and `signal` can cancel, or this scope if there is no signal. Release a new scope when its work is
   * done.
   */
  within(signal: AbortSignal | undefined): CancelScope {
    if (signal === undefined) return this;
    const inner = new CancelScope(this);
    inner.follow(signal);
    return inner;
  }

  /**
   * Starts the time limit `limitMs`, measured from `startedAt`. A second call has no effect. After the limit, the run is
   * cancelled by a timer, or by the next call to `checkDeadline`, whichever comes first.
   */
  startWallClock(limitMs: number, startedAt: number, clock: Clock): void {
    if (limitMs === never || this.#timer !== undefined) return;
    const timer = new IdleTimer(clock);
    this.#timer = timer;
    this.#limitMs = limitMs;
    this.#deadlineAt = startedAt + limitMs;
    this.#reserveAt = this.#deadlineAt - this.#reserveMs;
    const watch = (at: number): void =>
      timer.set(at, () => {
        this.checkDeadline(at);
        if (at < this.#deadlineAt) watch(this.#deadlineAt);
      });
    watch(this.#reserveAt);
  }

  /**
   * Cancels the run if its time limit has expired at `now`. Also checks the outer runs. When the reserve begins, cancels the
   * objects with `leavesReserve`. Streams call this method for each chunk, because a timer cannot fire while chunks arrive
   * without a pause.
   */
  checkDeadline(now: number): void {
    this.#outer?.checkDeadline(now);
    if (now < this.#reserveAt) return;
    const cause = { kind: "wall-clock", limitMs: this.#limitMs } as const;
    if (now >= this.#deadlineAt) this.cancel(cause);
    else for (const slot of [...this.#slots]) if (slot.leavesReserve === true) slot.cancel(cause);
  }

  /**
   * Returns the shortest remaining time of this run and its outer runs, in milliseconds. The reserve of each run is subtracted. With
   * `isReserved`, only runs that have a reserve are considered. Infinity if no run has a limit.
   */
  leftMs(now: number, isReserved = false): number {
    const own = isReserved && this.#reserveMs === 0 ? never : this.#reserveAt - now;
    return Math.max(0, Math.min(own, this.#outer?.leftMs(now, isReserved) ?? never));
  }

  /** Stops the timer, stops following other scopes and signals, and cancels everything that is still waiting. */
  release(): void {
    this.#timer?.stop();
    for (const undo of this.#undo) undo();
    if (this.#slots.size === 0) return;
    const cause: CancelReason = { kind: "abort", reason: new DOMException("The run is over.", "AbortError") };
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }
}

export function abortReasonOf(cause: CancelReason): unknown {
  if (cause.kind === "abort") return cause.reason;
  if (cause.kind === "wall-clock")
    return cause.reason ?? new DOMException(`The run took longer than ${cause.limitMs} ms.`, "TimeoutError");
  return new DOMException(`The run was ${endingOfReason(cause).reason.kind}.`, "AbortError");
}

/**
 * Returns a signal that is aborted when the scope is cancelled. An interrupt does not abort it, because the interrupt may come too late.
 */
export function signalOf(scope: CancelScope): AbortSignal {
  const controller = new AbortController();
  const cancel = (cause: CancelReason): void => {
    if (cause.kind !== "interrupt") controller.abort(abortReasonOf(cause));
  };
  scope.join({ cancel });
  if (scope.cause !== undefined) cancel(scope.cause);
  return controller.signal;
}

/**
 * True after a stop, a kill or an abort. False after an expired time limit or an interrupt, which do not end a run that is only waiting.
 */
export function isEnded({ cause }: CancelScope): boolean {
  return cause !== undefined && rank[cause.kind] >= rank.stop;
}

export function endingOfReason(cause: CancelReason): {
  readonly status: "stopped-by-user" | "timeout" | "follow-up-interrupt";
  readonly reason: EndReason;
} {
  const status = "stopped-by-user";
  switch (cause.kind) {
    case "stop":
      return { status, reason: { kind: "stopped", requester: cause.requester, note: cause.note } };
    case "kill":
      return { status, reason: { kind: "killed" } };
    case "abort":
      return { status, reason: { kind: "aborted", reason: toAbortReason(cause.reason) } };
    case "interrupt":
      return { status: "follow-up-interrupt", reason: { kind: "interrupted", message: cause.message } };
    case "wall-clock":
      return { status: "timeout", reason: { kind: cause.kind, limitMs: cause.limitMs } };
    default:
      return assertNever(cause);
  }
}

function toAbortReason(reason: unknown): PlainError | Json {
  try {
    if (reason instanceof Error) return toPlainError(reason);
    return typeof reason === "string" ? tidyMessage(reason) : toJson(reason);
  } catch (error) {
    return toPlainError(error);
  }
}
