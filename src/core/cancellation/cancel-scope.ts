// The cancellation of a run, and everything that must hear of it. A set of live slots in place of listeners on a signal:
// joining and leaving costs next to nothing, and nothing can be left behind on the caller's own signal.

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
  /** `reason` is what a signal says of it; by default that the run took too long. */
  | { readonly kind: "wall-clock"; readonly limitMs: number; readonly reason?: unknown }
  | { readonly kind: "interrupt"; readonly message: UserMessage }
  | { readonly kind: "stop"; readonly requester?: string | undefined; readonly note?: string | undefined }
  | { readonly kind: "kill" }
  | { readonly kind: "abort"; readonly reason: unknown };

/** Something that is waiting for a foreign thing, and can be told to give up. */
export interface Cancellable {
  cancel(cause: CancelReason): void;
}

/** A kill outranks a stop, a stop an interrupt, and that the wall clock; of equals the first one stays. */
const rank: { readonly [Kind in CancelReason["kind"]]: number } = { "wall-clock": 1, interrupt: 2, stop: 3, kill: 4, abort: 4 };

/** The live cancellation of one run: make one per run for the ports of the stages. `cancel` ends what waits. */
export class CancelScope {
  readonly #slots = new Set<Cancellable>();
  #cause: CancelReason | undefined;
  /** The wall clock, where it struck before or during an interrupt. */
  #outranked: CancelReason | undefined;
  #wallClockMs = Number.POSITIVE_INFINITY;
  #deadlineAt = Number.POSITIVE_INFINITY;
  #stopTimer: (() => void) | undefined;
  readonly #outer: CancelScope | undefined;

  /** @param outer of the run around this one, whose wall clock holds for this one too */
  constructor(outer?: CancelScope) {
    this.#outer = outer;
  }

  /** The highest cause so far. */
  get cause(): CancelReason | undefined {
    return this.#cause;
  }

  /** How many slots are waiting; 0 after a run. */
  get size(): number {
    return this.#slots.size;
  }

  /** Whether the wall clock has started. */
  get hasWallClock(): boolean {
    return this.#stopTimer !== undefined;
  }

  join(slot: Cancellable): void {
    this.#slots.add(slot);
  }

  leave(slot: Cancellable): void {
    this.#slots.delete(slot);
  }

  /** Tells every slot, unless a cause of equal or higher rank has come before. */
  cancel(cause: CancelReason): void {
    if (this.#cause !== undefined && rank[this.#cause.kind] >= rank[cause.kind]) {
      if (cause.kind === "wall-clock") this.#outranked = cause;
      return;
    }
    if (this.#cause?.kind === "wall-clock") this.#outranked = this.#cause;
    this.#cause = cause;
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }

  /** Takes an interrupt back: it came too late to end the run. */
  withdrawInterrupt(): void {
    if (this.#cause?.kind === "interrupt") this.#cause = this.#outranked;
  }

  /** Cancels with "abort" when the signal fires, or has fired; gives what lets the signal go. */
  follow(signal: AbortSignal | undefined): () => void {
    const abort = (): void => this.cancel({ kind: "abort", reason: signal?.reason });
    if (signal?.aborted !== true) return signal === undefined ? () => {} : onAbort(signal, abort);
    abort();
    return () => {};
  }

  /** Starts the wall clock, once. It began at `startedAt`, and cancels by its timer or by `checkDeadline`, whichever comes first. */
  startWallClock(limitMs: number, startedAt: number, clock: Clock): void {
    if (limitMs === Number.POSITIVE_INFINITY || this.#stopTimer !== undefined) return;
    this.#wallClockMs = limitMs;
    this.#deadlineAt = startedAt + limitMs;
    const timer = clock.setTimeout(() => this.checkDeadline(this.#deadlineAt), Math.max(1, this.#deadlineAt - clock.now()));
    this.#stopTimer = () => clock.clearTimeout(timer);
  }

  /** Cancels with "wall-clock" once `now` has reached the deadline: also looked at by streams that never let a timer fire. */
  checkDeadline(now: number): void {
    this.#outer?.checkDeadline(now);
    if (now >= this.#deadlineAt) this.cancel({ kind: "wall-clock", limitMs: this.#wallClockMs });
  }

  /** How long this run, and each around it, may still be active; Infinity before a wall clock has started. */
  leftMs(now: number): number {
    return Math.max(0, Math.min(this.#deadlineAt - now, this.#outer?.leftMs(now) ?? Number.POSITIVE_INFINITY));
  }

  /** Releases the wall clock's timer, and whatever still waits for something that the run did not come to need. */
  release(): void {
    this.#stopTimer?.();
    const cause: CancelReason = { kind: "abort", reason: new DOMException("The run is over.", "AbortError") };
    for (const slot of [...this.#slots]) slot.cancel(cause);
  }
}

/** The reason of an aborted signal. */
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

/** Whether somebody ended a run, so that nothing waits in it. Its wall clock does not: it is for what works, and nobody does. */
export function isEnded({ cause }: CancelScope): boolean {
  return cause?.kind === "stop" || cause?.kind === "kill" || cause?.kind === "abort";
}

/** The ending that a cause leads to; plain data. */
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

/** A signal's own reason as plain data: errors as PlainError, anything else as JSON. */
function toAbortReason(reason: unknown): PlainError | Json {
  try {
    if (reason instanceof Error) return toPlainError(reason);
    if (typeof reason === "string") return tidyMessage(reason);
    return toJson(reason);
  } catch (error) {
    return toPlainError(error);
  }
}
