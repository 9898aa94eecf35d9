// Reads a provider's stream. Ends the stream if it is silent for too long, or if the run is cancelled. Pauses the stream while
// too many events are unread. Uses callbacks instead of `for await`, so that each chunk costs only one promise, and so that the
// guard can leave the stream without waiting.

import type { Clock, Timeouts } from "../types/common.ts";
import type { EventSink } from "../types/loop-event.ts";
import type { ModelCall, ModelChunk } from "../types/provider.ts";
import { IdleTimer, LazySignal } from "../../shared/signals.ts";
import { dropPromise, Lull } from "../../shared/promises.ts";
import { isContent } from "../../shared/texts.ts";
import { abortReasonOf, type Cancellable, type CancelReason, type CancelScope } from "../../shared/cancellation/cancel-scope.ts";

export type StreamEnd =
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly error: unknown }
  | {
      readonly kind: "timed-out";
      readonly phase: "first-chunk" | "stream-idle" | "stream-too-long";
      readonly limitMs: number;
    }
  | { readonly kind: "cancelled"; readonly cause: CancelReason };

/** The parts of the run that a guard uses. */
export interface GuardPorts {
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** A timer that consecutive streams share. Default: a new timer. */
  readonly alarm?: IdleTimer | undefined;
  /**
   * `room` is called after each chunk. While too many events are unread, it returns a promise, and the guard waits for the
   * promise.
   */
  readonly events?: Pick<EventSink, "room"> | undefined;
}

export interface GuardedStream {
  readonly iteration: number;
  readonly mayAsk?: ModelCall["mayAsk"];
  readonly note?: ModelCall["note"];
  open(call: ModelCall): AsyncIterable<ModelChunk>;
  /**
   * Called with each chunk. After a time limit has expired, called only with usage chunks, so that all usage is counted. Returns
   * "finished" while the answer is complete, so that an error or a silence no longer fails the stream. Returns "over" if the stream
   * has failed, even if the provider keeps it open.
   */
  take(chunk: ModelChunk): "finished" | "over" | undefined;
}

type OpenPhase = "first-chunk" | "stream-idle" | "finished" | "settling";

/** Heartbeats extend a limit on silence to at most this multiple of its length. */
const mostDelays = 12;

/** The default of `timeouts.streamMs`, in milliseconds. */
export const defaultStreamMs = 1_800_000;

/** How long a provider may keep its stream open after `finish`, in milliseconds. */
const hangUpAfterMs = 1_000;

const ended: StreamEnd = { kind: "ended" };
const failed: StreamEnd = { kind: "failed", error: undefined };
const givenUp = (): unknown => new DOMException("The stream was abandoned.", "AbortError");

export function iterateChunks(stream: AsyncIterable<ModelChunk>): AsyncIterator<ModelChunk> {
  const given: unknown = stream;
  if (typeof given === "object" && given !== null && Symbol.asyncIterator in given) return stream[Symbol.asyncIterator]();
  dropPromise(given);
  throw new TypeError("The provider's stream() did not return an async iterable. Make it an async generator.");
}

export class StreamGuard implements ModelCall, Cancellable {
  readonly iteration: number;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly mayAsk: ModelCall["mayAsk"];
  readonly note: ModelCall["note"];
  readonly #stream: GuardedStream;
  readonly #ports: GuardPorts;
  readonly #alarm: IdleTimer;
  readonly #signal = new LazySignal();
  #iterator: AsyncIterator<ModelChunk> | undefined;
  /**
   * "first-chunk" and "stream-idle" name the limit on silence that applies now. After `finish`, the phase is "finished": the stream
   * may send more until it is silent for a moment. After a limit has expired, the phase is "settling": only usage is still read.
   */
  #phase: OpenPhase | "closed" = "first-chunk";
  /** Since when a slow reader holds the stream back. The time limits do not count meanwhile. */
  #heldAt: number | undefined;
  /** When `timeouts.streamMs` expires. */
  #mustEndAt = Number.POSITIVE_INFINITY;
  #lastSign = 0;
  #lastContent = 0;
  readonly #lull = new Lull();
  /** When a "finished" or "settling" stream is closed. */
  #settleBy = 0;
  #resolve: (end: StreamEnd) => void = () => {};
  /** How the stream ends when it is closed. `#giveUp` sets this field to the expired limit or the cancellation. */
  #verdict: StreamEnd = ended;

  constructor(stream: GuardedStream, ports: GuardPorts) {
    this.iteration = stream.iteration;
    this.clock = ports.clock;
    this.timeouts = ports.timeouts;
    this.mayAsk = stream.mayAsk;
    this.note = stream.note;
    this.#stream = stream;
    this.#ports = ports;
    this.#alarm = ports.alarm ?? new IdleTimer(ports.clock);
  }

  get signal(): AbortSignal {
    return this.#signal.signal;
  }

  // This is a field, not a method, so that a provider may destructure the call.
  readonly heartbeat: ModelCall["heartbeat"] = (state) => {
    if (state === "waiting") this.#refresh();
    else this.#lastSign = this.clock.now();
  };

  /** Restarts all limits on silence. Takes `now`, because reading the clock again for every chunk would be slow. */
  #refresh(now = this.clock.now()): void {
    this.#lastSign = now;
    this.#lastContent = now;
  }

  /** Reads the stream until it ends. Never rejects. */
  run(): Promise<StreamEnd> {
    const end = new Promise<StreamEnd>((resolve) => {
      this.#resolve = resolve;
    });
    const { cause } = this.#ports.scope;
    if (cause !== undefined) {
      this.#close({ kind: "cancelled", cause });
      return end;
    }
    this.#ports.scope.join(this);
    this.#refresh();
    this.#mustEndAt = this.#lastSign + (this.timeouts.streamMs ?? defaultStreamMs);
    this.#enter("first-chunk");
    try {
      this.#iterator = iterateChunks(this.#stream.open(this));
      // The run may have been cancelled while the provider opened its stream.
      if (this.#isClosed()) this.#leave();
      else this.#pull();
    } catch (error) {
      this.#close({ kind: "failed", error });
    }
    return end;
  }

  /**
   * If the time limit of the run has expired, waits up to `settleMs` for the remaining chunks, so that their usage is counted.
   * For any other reason, closes the stream at once.
   */
  cancel(cause: CancelReason): void {
    const end: StreamEnd = { kind: "cancelled", cause };
    if (cause.kind === "wall-clock") this.#giveUp(end, () => abortReasonOf(cause));
    else this.#close(end, () => abortReasonOf(cause));
  }

  #pull(): void {
    try {
      // `next` of a provider may return a plain value, or throw synchronously.
      Promise.resolve(this.#iterator?.next()).then(this.#onNext, this.#fail);
    } catch (error) {
      this.#fail(error);
    }
  }

  readonly #onNext = (result: IteratorResult<ModelChunk> | undefined): void => {
    if (this.#phase === "closed") return;
    try {
      if (result === undefined || result.done === true) return this.#close(this.#verdict);
      const chunk = result.value;
      const hasContent = isContent(chunk);
      this.#onSignOfLife(chunk, hasContent);
      // `#onSignOfLife` closes the stream if a limit has expired while no timer could fire.
      const isLate = this.#phase === "settling" || this.#isClosed();
      const said = !isLate || chunk.type === "usage" ? this.#stream.take(chunk) : undefined;
      if (!this.#isClosed()) this.#goOn(said, hasContent);
    } catch (error) {
      this.#fail(error);
    }
  };

  /** Checks the limits for each chunk, because the timer cannot fire while chunks arrive without a pause. */
  #onSignOfLife({ type }: ModelChunk, hasContent: boolean): void {
    const now = this.clock.now();
    if (!this.#isEnding && now < this.#mustEndAt) {
      if (hasContent) this.#refresh(now);
      else if (type === "attempt-start" || type === "attempt-discarded") this.#lastSign = now;
    }
    if (now >= this.#dueAt) return this.#ring();
    if (this.#phase === "closed" || this.#isEnding) return;
    const phase = hasContent ? "stream-idle" : type === "attempt-start" ? "first-chunk" : this.#phase;
    if (this.#phase !== phase) this.#enter(phase);
    this.#ports.scope.checkDeadline(now);
  }

  get #limitMs(): number {
    return this.#phase === "first-chunk" ? this.timeouts.firstChunkMs : this.timeouts.streamIdleMs;
  }

  get #dueAt(): number {
    const limitMs = this.#limitMs;
    if (this.#isEnding) return this.#settleBy;
    return Math.min(this.#lastSign + limitMs, this.#lastContent + mostDelays * limitMs, this.#mustEndAt);
  }

  #enter(phase: OpenPhase, settleMs: number = 0): void {
    this.#phase = phase;
    if (this.#isEnding) this.#settleBy = this.clock.now() + settleMs;
    this.#alarm.set(this.#dueAt, this.#ring);
  }

  /** Requests the next chunk, if necessary after waiting for the promise of `room`. */
  #goOn(said: "finished" | "over" | undefined, hasContent: boolean): void {
    if (said === "over") return this.#close(this.#phase === "finished" ? ended : failed, givenUp);
    if (this.#phase !== "settling" && (said === "finished") !== (this.#phase === "finished")) {
      if (said === "finished") this.#enter("finished", hangUpAfterMs);
      else {
        // A wrapper discards a finished answer, and tries again.
        this.#refresh();
        this.#enter("first-chunk");
      }
    }
    const room = this.#ports.events?.room();
    const pause = room === undefined ? this.#lull.note(hasContent) : this.#hold(room);
    if (pause === undefined) this.#pull();
    else void pause.then(() => this.#isClosed() || this.#pull());
  }

  #hold(room: PromiseLike<void>): PromiseLike<void> {
    this.#heldAt = this.clock.now();
    return room.then(() => {
      this.#resume();
      this.#heldAt = undefined;
    });
  }

  #resume(): void {
    if (this.#heldAt === undefined) return;
    this.#refresh();
    this.#mustEndAt += this.#lastSign - this.#heldAt;
    this.#heldAt = this.#lastSign;
    if (this.#phase === "finished") this.#enter("finished", hangUpAfterMs);
  }

  get #isEnding(): boolean {
    return this.#phase === "settling" || this.#phase === "finished";
  }

  /** Check this after each callback, because a listener may stop the run, which closes the stream. */
  #isClosed(): boolean {
    return this.#phase === "closed";
  }

  readonly #fail = (error: unknown): void => {
    if (this.#phase !== "closed") this.#close(this.#isEnding ? this.#verdict : { kind: "failed", error });
  };

  readonly #ring = (): void => {
    if (this.#phase === "closed") return;
    this.#resume();
    const now = this.clock.now();
    if (now < this.#dueAt) return this.#alarm.set(this.#dueAt, this.#ring);
    if (this.#phase === "settling" || this.#phase === "finished") return this.#close(this.#verdict, givenUp);
    const isLong = now >= this.#mustEndAt;
    const silentMs = now < this.#lastSign + this.#limitMs ? mostDelays * this.#limitMs : this.#limitMs;
    const limitMs = isLong ? (this.timeouts.streamMs ?? defaultStreamMs) : silentMs;
    const message = isLong ? `The model was still writing after ${limitMs} ms.` : `The model sent nothing for ${limitMs} ms.`;
    const end = { kind: "timed-out", phase: isLong ? "stream-too-long" : this.#phase, limitMs } as const;
    this.#giveUp(end, () => new DOMException(message, "TimeoutError"));
  };

  #giveUp(verdict: StreamEnd, reason: () => unknown): void {
    if (this.#phase === "closed" || this.#phase === "settling") return;
    if (this.#phase === "finished") return this.#close(ended, reason);
    const { settleMs } = this.timeouts;
    if (settleMs === 0 || this.#heldAt !== undefined) return this.#close(verdict, reason);
    this.#verdict = verdict;
    this.#enter("settling", settleMs);
    this.#signal.abort(reason);
  }

  #close(end: StreamEnd, reason?: () => unknown): void {
    if (this.#phase === "closed") return;
    this.#phase = "closed";
    this.#ports.scope.leave(this);
    if (this.#ports.alarm === undefined) this.#alarm.stop();
    else this.#alarm.silence();
    if (end.kind !== "ended" || reason !== undefined) {
      this.#signal.abort(reason ?? givenUp);
      this.#leave();
    }
    this.#resolve(end);
  }

  #leave(): void {
    try {
      this.#iterator?.return?.()?.then(undefined, () => {});
    } catch {
      // Errors while closing a stream are ignored.
    }
  }
}
