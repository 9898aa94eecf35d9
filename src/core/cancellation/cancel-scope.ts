// The cancellation of a run, and everything that must be told of it. A set of slots instead of listeners on a signal: joining and
// leaving is cheap, and no listener can stay on the caller's signal.

import type { Clock, PlainError } from "../types/common.ts";
import type { UserMessage } from "../types/message.ts";
import { onAbort } from "./signals.ts";
import type { Json } from "../types/json.ts";
import type { EndReason } from "../types/termination.ts";
import { assertNever } from "../utils/guards.ts";
import { tidyMessage, toPlainError } from "../utils/plain-error.ts";
import { toJson } from "../utils/json.ts";

/** Why a run is being ended from outside. */
export type CancelReason =
  /** `reason` is the abort reason of signals. Default: that the run took too long. */
  | { readonly kind: "wall-clock"; readonly limitMs: number; readonly reason?: unknown }
  | { readonly kind: "interrupt"; readonly message: UserMessage }
  | { readonly kind: "stop"; readonly requester?: string | undefined; readonly note?: string | undefined }
  | { readonly kind: "kill" }
  | { readonly kind: "abort"; readonly reason: unknown };

/** Something that waits for outside code, and can be told to give up. */
export interface Cancellable {
  cancel(cause: CancelReason): void;
}

/** A kill or an abort outranks a stop, a stop an interrupt, and an interrupt the wall clock. Of equal causes the first one stays. */
const rank: { readonly [Kind in CancelReason["kind"]]: number } = { "wall-clock": 1, interrupt: 2, stop: 3, kill: 4, abort: 4 };

/** The live cancellation of one run. Make one per run for the ports of the stages. `cancel` ends everything that waits. */
export class CancelScope {
  readonly #slots = new Set<Cancellable>();
  #cause: CancelReason | undefined;
  /** The wall-clock cause, if it came before or during an interrupt. */
  #outranked: CancelReason | undefined;
  #wallClockMs = Number.POSITIVE_INFINITY;
  #deadlineAt = Number.POSITIVE_INFINITY;
  #stopTimer: (() => void) | undefined;
  readonly #outer: CancelScope | undefined;

  /**
   * @param outer of the run around this one, whose wall clock holds for this one too
   */
  constructor(outer?: CancelScope) {
    this.#outer = outer;
  }

  /** The highest cause so far. */
  get cause(): CancelReason | undefined {
    return this.#cause;
  }

  /** The number of waiting slots; 0 after a run. */
  get size(): number {
    return this.#slots.size;
  }

  /** True once the wall clock has started. */
  get hasWallClock(): boolean {
    return this.#stopTimer !== undefined;
  }

  join(slot: Cancellable): void {
    this.#slots.add(slot);
  }

  leave(slot: Cancellable): void {
    this.#slots.delete(slot);
  }

  /** Cancels every slot, unless a cause of equal or higher rank came before. */
  cancel(cause: CancelReason): void {
    if (this.#cause !== undefined && rank[this.#cause.kind] >= rank[cause.kind]) {
      if (cause.kind === "wall-clock") this.#outranked = cause;
      return;
    }
    if (this.#cause?.kind === "wall-clock") this.#outranked = this.#cause;
    this.#cause = cause;
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }

  /** Withdraws an interrupt that came too late to end the run. */
  withdrawInterrupt(): void {
    if (this.#cause?.kind === "interrupt") this.#cause = this.#outranked;
  }

  /** Cancels with "abort" when the signal fires, or if it has fired. Returns a function that stops following the signal. */
  follow(signal: AbortSignal | undefined): () => void {
    const abort = (): void => this.cancel({ kind: "abort", reason: signal?.reason });
    if (signal?.aborted !== true) return signal === undefined ? () => {} : onAbort(signal, abort);
    abort();
    return () => {};
  }

  /** Starts the wall clock, once. It counts from `startedAt`, and cancels by its timer or by `checkDeadline`, whichever comes first. */
  startWallClock(limitMs: number, startedAt: number, clock: Clock): void {
    if (limitMs === Number.POSITIVE_INFINITY || this.#stopTimer !== undefined) return;
    this.#wallClockMs = limitMs;
    this.#deadlineAt = startedAt + limitMs;
    const timer = clock.setTimeout(() => this.checkDeadline(this.#deadlineAt), Math.max(1, this.#deadlineAt - clock.now()));
    this.#stopTimer = () => clock.clearTimeout(timer);
  }

  /** Cancels with "wall-clock" once `now` has reached the deadline. Also called by streams that never let a timer fire. */
  checkDeadline(now: number): void {
    this.#outer?.checkDeadline(now);
    if (now >= this.#deadlineAt) this.cancel({ kind: "wall-clock", limitMs: this.#wallClockMs });
  }

  /** Returns how long this run, and each run around it, may still be active. Infinity before a wall clock has started. */
  leftMs(now: number): number {
    return Math.max(0, Math.min(this.#deadlineAt - now, this.#outer?.leftMs(now) ?? Number.POSITIVE_INFINITY));
  }

  /** Releases the timer of the wall clock, and all remaining slots. */
  release(): void {
    this.#stopTimer?.();
    const cause: CancelReason = { kind: "abort", reason: new DOMException("The run is over.", "AbortError") };
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }
}

/** Returns the reason of the aborted signal. */
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
 * True if somebody ended a run, so that nothing may wait in it. The wall clock does not count: it limits work, and a waiting run
 * does none.
 */
export function isEnded({ cause }: CancelScope): boolean {
  return cause?.kind === "stop" || cause?.kind === "kill" || cause?.kind === "abort";
}

/** Returns the ending of a cause, as plain data. */
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

/** Converts the reason of a signal to plain data: errors to PlainError, anything else to JSON. */
function toAbortReason(reason: unknown): PlainError | Json {
  try {
    if (reason instanceof Error) return toPlainError(reason);
    if (typeof reason === "string") return tidyMessage(reason);
    return toJson(reason);
  } catch (error) {
    return toPlainError(error);
  }
}
