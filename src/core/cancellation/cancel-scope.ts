// The cancellation of a run, and the set of everything that is cancelled with the run. The set holds objects instead of
// listeners on a signal: adding an object is cheap, and no listener can remain on the caller's signal.

import type { Clock, PlainError } from "../types/common.ts";
import type { UserMessage } from "../types/message.ts";
import { onAbort } from "./signals.ts";
import type { Json } from "../types/json.ts";
import type { EndReason } from "../types/termination.ts";
import { assertNever } from "../utils/guards.ts";
import { tidyMessage, toPlainError } from "../utils/plain-error.ts";
import { toJson } from "../utils/json.ts";

/** Why something outside the loop ends a run. */
export type CancelReason =
  /** `reason` is the abort reason for signals. Default: a TimeoutError which says that the run took too long. */
  | { readonly kind: "wall-clock"; readonly limitMs: number; readonly reason?: unknown }
  | { readonly kind: "interrupt"; readonly message: UserMessage }
  | { readonly kind: "stop"; readonly requester?: string | undefined; readonly note?: string | undefined }
  | { readonly kind: "kill" }
  | { readonly kind: "abort"; readonly reason: unknown };

/** Something that waits for code outside the package, and stops waiting when `cancel` is called. */
export interface Cancellable {
  cancel(cause: CancelReason): void;
}

/** A cause replaces an earlier cause with a lower rank. Between causes with the same rank, the first one stays. */
const rank: { readonly [Kind in CancelReason["kind"]]: number } = { "wall-clock": 1, interrupt: 2, stop: 3, kill: 4, abort: 4 };

/** The cancellation of one run. Make one scope for each run, and pass it to the stages. `cancel` ends everything that waits. */
export class CancelScope {
  readonly #slots = new Set<Cancellable>();
  #cause: CancelReason | undefined;
  /** The wall-clock cause, if the time limit expired before or during an interrupt. */
  #outranked: CancelReason | undefined;
  #wallClockMs = Number.POSITIVE_INFINITY;
  #deadlineAt = Number.POSITIVE_INFINITY;
  #stopTimer: (() => void) | undefined;
  readonly #outer: CancelScope | undefined;

  /**
   * @param outer the scope of the outer run, whose time limit also applies to this run
   */
  constructor(outer?: CancelScope) {
    this.#outer = outer;
  }

  /** The cause with the highest rank so far. */
  get cause(): CancelReason | undefined {
    return this.#cause;
  }

  /** The number of objects that wait. 0 after a run. */
  get size(): number {
    return this.#slots.size;
  }

  /** True after the time limit of the run has started. */
  get hasWallClock(): boolean {
    return this.#stopTimer !== undefined;
  }

  join(slot: Cancellable): void {
    this.#slots.add(slot);
  }

  leave(slot: Cancellable): void {
    this.#slots.delete(slot);
  }

  /** Cancels everything that waits, unless there was already a cause with an equal or higher rank. */
  cancel(cause: CancelReason): void {
    if (this.#cause !== undefined && rank[this.#cause.kind] >= rank[cause.kind]) {
      if (cause.kind === "wall-clock") this.#outranked = cause;
      return;
    }
    if (this.#cause?.kind === "wall-clock") this.#outranked = this.#cause;
    this.#cause = cause;
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }

  /** Removes an interrupt that came too late to end the run. */
  withdrawInterrupt(): void {
    if (this.#cause?.kind === "interrupt") this.#cause = this.#outranked;
  }

  /** Cancels with "abort" when the signal is aborted, or immediately if it already is. Returns a function that ends this. */
  follow(signal: AbortSignal | undefined): () => void {
    const abort = (): void => this.cancel({ kind: "abort", reason: signal?.reason });
    if (signal?.aborted !== true) return signal === undefined ? () => {} : onAbort(signal, abort);
    abort();
    return () => {};
  }

  /**
   * Starts the time limit of the run, which counts from `startedAt`. Only the first call has an effect. The run is cancelled by a
   * timer or by `checkDeadline`, whichever comes first.
   */
  startWallClock(limitMs: number, startedAt: number, clock: Clock): void {
    if (limitMs === Number.POSITIVE_INFINITY || this.#stopTimer !== undefined) return;
    this.#wallClockMs = limitMs;
    this.#deadlineAt = startedAt + limitMs;
    const timer = clock.setTimeout(() => this.checkDeadline(this.#deadlineAt), Math.max(1, this.#deadlineAt - clock.now()));
    this.#stopTimer = () => clock.clearTimeout(timer);
  }

  /** Cancels with "wall-clock" if `now` has reached the deadline. Streams call it too, because a busy stream can block timers. */
  checkDeadline(now: number): void {
    this.#outer?.checkDeadline(now);
    if (now >= this.#deadlineAt) this.cancel({ kind: "wall-clock", limitMs: this.#wallClockMs });
  }

  /** Returns how long this run may still be active, in milliseconds, including the limits of its outer runs. Infinity if none. */
  leftMs(now: number): number {
    return Math.max(0, Math.min(this.#deadlineAt - now, this.#outer?.leftMs(now) ?? Number.POSITIVE_INFINITY));
  }

  /** Releases the timer, and cancels everything that still waits. */
  release(): void {
    this.#stopTimer?.();
    // Usually nothing waits. Then no error is created, because its stack trace takes longer than the rest of the release.
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

/**
 * True if a run was stopped, killed or aborted, so that nothing in the run may wait any longer. False after the time limit has
 * expired: that limit is for work, and a run that waits does no work.
 */
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
