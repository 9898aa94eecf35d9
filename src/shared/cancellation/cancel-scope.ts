// A waiting object joins the scope of its run, and `cancel` cancels every object that has joined. Abort listeners on the caller's
// signal would be slower, and a listener that is never removed is a memory leak.

import type { Clock, Json, PlainError } from "../../core/types/common.ts";
import type { UserMessage } from "../../core/types/message.ts";
import { onAbort } from "../signals.ts";
import type { EndReason } from "../../core/types/termination.ts";
import { assertNever } from "../guards.ts";
import { tidyMessage, toPlainError } from "../plain-error.ts";
import { toJson } from "../json.ts";

/** The reason why a run was cancelled: its time limit has expired, or something outside the loop cancelled the run. */
export type CancelReason =
  /** `reason` becomes the abort reason of the run's signals. Default: a TimeoutError which says that the run took too long. */
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

/** If a run is cancelled twice, the reason with the higher rank counts. Of two equal ranks, the first reason counts. */
const rank: { readonly [Kind in CancelReason["kind"]]: number } = { "wall-clock": 1, interrupt: 2, stop: 3, kill: 4, abort: 4 };

/** Cancels one run: `cancel` stops everything that waits in the run. Each run has one scope. */
export class CancelScope implements Cancellable {
  readonly #slots = new Set<Cancellable>();
  #cause: CancelReason | undefined;
  /**
   * Stores the expired time limit while `#cause` has a higher rank. If `#cause` is an interrupt, `withdrawInterrupt` restores
   * the stored reason.
   */
  #outranked: CancelReason | undefined;
  #wallClockMs = Number.POSITIVE_INFINITY;
  #deadlineAt = Number.POSITIVE_INFINITY;
  /** Stops the timers, or what else cancels this scope. */
  #stop: (() => void) | undefined;
  readonly #outer: CancelScope | undefined;
  readonly #reserveMs: number;

  /**
   * @param outer the scope of the outer run, whose time limit also applies to this run
   * @param reserveMs the time before the end of the time limit that only a final answer may use, in milliseconds
   */
  constructor(outer?: CancelScope, reserveMs: number = 0) {
    this.#outer = outer;
    this.#reserveMs = reserveMs;
  }

  /** The cancel reason with the highest rank so far. Undefined if the run is not cancelled. */
  get cause(): CancelReason | undefined {
    return this.#cause;
  }

  /** The number of waiting objects. After a run, it is 0. */
  get size(): number {
    return this.#slots.size;
  }

  get hasWallClock(): boolean {
    return this.#stop !== undefined;
  }

  join(slot: Cancellable): void {
    this.#slots.add(slot);
  }

  leave(slot: Cancellable): void {
    this.#slots.delete(slot);
  }

  /** Cancels everything that waits, unless the run was already cancelled for a reason with an equal or higher rank. */
  cancel(cause: CancelReason): void {
    if (this.#cause !== undefined && rank[this.#cause.kind] >= rank[cause.kind]) {
      if (cause.kind === "wall-clock") this.#outranked = cause;
      return;
    }
    if (this.#cause?.kind === "wall-clock") this.#outranked = this.#cause;
    this.#cause = cause;
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }

  /** Removes an interrupt that arrived too late to end the run. */
  withdrawInterrupt(): void {
    if (this.#cause?.kind === "interrupt") this.#cause = this.#outranked;
  }

  /**
   * Cancels the run when `signal` is aborted, or immediately if it is already aborted. Returns a function that stops listening.
   */
  follow(signal: AbortSignal | undefined): () => void {
    const abort = (): void => this.cancel({ kind: "abort", reason: signal?.reason });
    if (signal?.aborted !== true) return signal === undefined ? () => {} : onAbort(signal, abort);
    abort();
    return () => {};
  }

  /** Returns a scope that this scope and `signal` cancel, or this scope if there is no signal. Release another scope after its work. */
  within(signal: AbortSignal | undefined): CancelScope {
    if (signal === undefined) return this;
    const inner = new CancelScope(this);
    this.join(inner);
    if (this.#cause !== undefined) inner.cancel(this.#cause);
    const letGo = inner.follow(signal);
    inner.#stop = () => {
      letGo();
      this.leave(inner);
    };
    return inner;
  }

  /**
   * Starts the time limit `limitMs`, measured from `startedAt`. A second call has no effect. After the limit, the run is
   * cancelled by a timer, or by the next call of `checkDeadline`, whichever comes first.
   */
  startWallClock(limitMs: number, startedAt: number, clock: Clock): void {
    if (limitMs === Number.POSITIVE_INFINITY || this.#stop !== undefined) return;
    this.#wallClockMs = limitMs;
    this.#deadlineAt = startedAt + limitMs;
    const startTimer = (at: number): unknown => clock.setTimeout(() => this.checkDeadline(at), Math.max(1, at - clock.now()));
    const timer = startTimer(this.#deadlineAt);
    const reserveTimer = this.#reserveMs === 0 ? undefined : startTimer(this.#reserveAt);
    this.#stop = () => {
      clock.clearTimeout(timer);
      if (reserveTimer !== undefined) clock.clearTimeout(reserveTimer);
    };
  }

  get #reserveAt(): number {
    return this.#deadlineAt - this.#reserveMs;
  }

  /**
   * Cancels the run if its time limit has expired at `now`. Also checks the outer runs. When the reserve begins, cancels the
   * objects with `leavesReserve`. Streams call this method for each chunk, because a timer cannot fire while chunks arrive
   * without a pause.
   */
  checkDeadline(now: number): void {
    this.#outer?.checkDeadline(now);
    const cause = { kind: "wall-clock", limitMs: this.#wallClockMs } as const;
    if (now >= this.#deadlineAt) this.cancel(cause);
    else if (now >= this.#reserveAt) for (const slot of [...this.#slots]) if (slot.leavesReserve === true) slot.cancel(cause);
  }

  /**
   * Returns the shortest remaining time of this run and its outer runs, in milliseconds. The reserve of each run is subtracted.
   * Infinity if no run has a limit.
   */
  leftMs(now: number): number {
    return Math.max(0, Math.min(this.#reserveAt - now, this.#outer?.leftMs(now) ?? Number.POSITIVE_INFINITY));
  }

  /**
   * This run and its outer runs may each have a reserve. Returns the time until the first of these reserves begins, in
   * milliseconds. Infinity if no run has a reserve.
   */
  reserveInMs(now: number): number {
    const own = this.#reserveMs === 0 ? Number.POSITIVE_INFINITY : this.#reserveAt - now;
    return Math.max(0, Math.min(own, this.#outer?.reserveInMs(now) ?? Number.POSITIVE_INFINITY));
  }

  /** Stops the timers, and cancels everything that still waits. */
  release(): void {
    this.#stop?.();
    if (this.#slots.size === 0) return;
    const cause: CancelReason = { kind: "abort", reason: new DOMException("The run is over.", "AbortError") };
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }
}

export function abortReasonOf(cause: CancelReason): unknown {
  switch (cause.kind) {
    case "abort":
      return cause.reason;
    case "kill":
      return new DOMException("The run was killed.", "AbortError");
    case "stop":
      return new DOMException("The run was stopped.", "AbortError");
    case "interrupt":
      return new DOMException("The run was interrupted by a message.", "AbortError");
    case "wall-clock":
      return cause.reason ?? new DOMException(`The run took longer than ${cause.limitMs} ms.`, "TimeoutError");
    default:
      return assertNever(cause);
  }
}

/** True after a stop, a kill or an abort. An expired time limit or an interrupt does not end a run that only waits. */
export function isEnded({ cause }: CancelScope): boolean {
  return cause?.kind === "stop" || cause?.kind === "kill" || cause?.kind === "abort";
}

export function endingOfReason(cause: CancelReason): {
  readonly status: "stopped-by-user" | "timeout" | "follow-up-interrupt";
  readonly reason: EndReason;
} {
  switch (cause.kind) {
    case "stop":
      return { status: "stopped-by-user", reason: { kind: "stopped", requester: cause.requester, note: cause.note } };
    case "kill":
      return { status: "stopped-by-user", reason: { kind: "killed" } };
    case "abort":
      return { status: "stopped-by-user", reason: { kind: "aborted", reason: toAbortReason(cause.reason) } };
    case "interrupt":
      return { status: "follow-up-interrupt", reason: { kind: "interrupted", message: cause.message } };
    case "wall-clock":
      return { status: "timeout", reason: { kind: "wall-clock", limitMs: cause.limitMs } };
    default:
      return assertNever(cause);
  }
}

function toAbortReason(reason: unknown): PlainError | Json {
  try {
    if (reason instanceof Error) return toPlainError(reason);
    if (typeof reason === "string") return tidyMessage(reason);
    return toJson(reason);
  } catch (error) {
    return toPlainError(error);
  }
}
