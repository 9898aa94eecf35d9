// Reads a provider's stream and closes it if it is silent for too long or the run is cancelled. Uses callbacks instead of `for await`,
// because they cost only one promise per chunk, and make it possible to leave a stream without waiting for it.

import type { Clock, Timeouts } from "../types/common.ts";
import type { EventSink } from "../types/loop-event.ts";
import type { ModelCall, ModelChunk } from "../types/provider.ts";
import { IdleTimer } from "../../shared/signals.ts";
import { dropIterator, dropPromise, Lull } from "../../shared/promises.ts";
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
   * The guard calls `room` after each chunk. While too many events are unread, `room` returns a promise, and the guard waits for
   * it.
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
   * "finished" once the answer is complete, so that an error or silence no longer fails the stream. Returns "over" if the stream
   * has failed, even if the provider does not close it.
   */
  take(chunk: ModelChunk): "finished" | "over" | undefined;
}

/** Heartbeats can extend a limit on silence to at most this multiple of its length. */
const maxDelays = 12;

/** The default for `timeouts.streamMs`, in milliseconds. */
export const defaultStreamMs = 1_800_000;

/** How long a provider may keep its stream open after `finish`, in milliseconds. */
const hangUpAfterMs = 1_000;

const givenUp = (): unknown => new DOMException("The stream was abandoned.", "AbortError");

export function iterateChunks(stream: AsyncIterable<ModelChunk>): AsyncIterator<ModelChunk> {
  const given: unknown = stream;
  if (typeof given === "object" && given !== null && Symbol.asyncIterator in given) return stream[Symbol.asyncIterator]();
  dropPromise(given);
  throw new TypeError("The provider's stream() did not return an async iterable. Make it an async generator.");
}

/** The phases of a stream, in order. In the first two, a limit on silence applies. A new attempt returns to the first. */
const [firstChunk, streamIdle, finished, settling, closed] = [0, 1, 2, 3, 4];

export class StreamGuard implements ModelCall, Cancellable {
  readonly iteration: number;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly mayAsk: ModelCall["mayAsk"];
  readonly note: ModelCall["note"];
  readonly heartbeat: ModelCall["heartbeat"];
  readonly #stream: GuardedStream;
  readonly #ports: GuardPorts;
  readonly #alarm: IdleTimer;
  readonly #controller = new AbortController();
  #iterator: AsyncIterator<ModelChunk> | undefined;
  /**
   * After `finish`, the phase is `finished`: the stream may send more until it is silent for a moment. After a limit has expired, the
   * phase is `settling`: only usage is still read.
   */
  #phase = firstChunk;
  /** True while a slow reader holds the stream back. The time limits are paused until the reader continues. */
  #isHeld = false;
  #lastSign = 0;
  #lastContent = 0;
  /** The time at which `timeouts.streamMs` expires. */
  #mustEndAt = 0;
  /** The time at which a `finished` or `settling` stream is closed. */
  #settleBy = 0;
  readonly #lull = new Lull();
  #resolve: (end: StreamEnd) => void = () => {};
  /** True if the guard closed the stream before its end. */
  #isLeft = false;
  /** The end that is reported once the stream is closed. A limit or a cancellation changes this value. */
  #verdict: StreamEnd = { kind: "ended" };

  constructor(stream: GuardedStream, ports: GuardPorts) {
    this.iteration = stream.iteration;
    this.clock = ports.clock;
    this.timeouts = ports.timeouts;
    this.mayAsk = stream.mayAsk;
    this.note = stream.note;
    // An arrow function, so that a provider may destructure `heartbeat` from its call.
    this.heartbeat = (state) => {
      const now = this.clock.now();
      this.#lastSign = now;
      if (state === "waiting") this.#lastContent = now;
    };
    this.#stream = stream;
    this.#ports = ports;
    this.#alarm = ports.alarm ?? new IdleTimer(ports.clock);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Reads the stream until it ends. Never rejects. */
  run(): Promise<StreamEnd> {
    const end = new Promise<StreamEnd>((resolve) => (this.#resolve = resolve));
    const { cause } = this.#ports.scope;
    if (cause !== undefined) {
      this.#close({ kind: "cancelled", cause });
      return end;
    }
    this.#ports.scope.join(this);
    this.heartbeat("waiting");
    this.#mustEndAt = this.#lastSign + (this.timeouts.streamMs ?? defaultStreamMs);
    this.#arm();
    try {
      this.#iterator = iterateChunks(this.#stream.open(this));
      // The run may have been cancelled while the provider opened its stream. The stream is then closed unread.
      if (this.#phase === closed) this.#leave();
      else this.#pull();
    } catch (error) {
      this.#close({ kind: "failed", error });
    }
    return end;
  }

  /**
   * Handles the run's cancellation. If the run's time limit has expired, waits up to `toolCleanupMs` for remaining chunks, so that their
   * usage is counted. For any other reason, closes the stream immediately.
   */
  cancel(cause: CancelReason): void {
    const end: StreamEnd = { kind: "cancelled", cause };
    if (cause.kind === "wall-clock") this.#giveUp(end, abortReasonOf(cause));
    else this.#close(end, abortReasonOf(cause));
  }

  readonly #pull = (): void => {
    if (this.#phase === closed) return;
    try {
      // A provider's `next` may return a plain value or throw synchronously, so both are accepted.
      Promise.resolve(this.#iterator?.next()).then(this.#onNext, this.#fail);
    } catch (error) {
      this.#fail(error);
    }
  };

  readonly #onNext = (result: IteratorResult<ModelChunk> | undefined): void => {
    if (this.#phase === closed) return;
    try {
      if (result === undefined || result.done === true) return this.#close(this.#verdict);
      const chunk = result.value;
      const hasContent = isContent(chunk);
      this.#note(chunk, hasContent);
      if (this.#phase >= settling && chunk.type !== "usage") return this.#goOn(undefined, hasContent);
      this.#goOn(this.#stream.take(chunk), hasContent);
    } catch (error) {
      this.#fail(error);
    }
  };

  /** Updates the limits for a chunk. Checks them here too, because the timer cannot fire while chunks arrive without a pause. */
  #note({ type }: ModelChunk, hasContent: boolean): void {
    const now = this.clock.now();
    const isOpen = this.#phase < finished;
    if (isOpen && now < this.#mustEndAt) {
      if (hasContent || type.startsWith("attempt-")) this.#lastSign = now;
      if (hasContent) this.#lastContent = now;
    }
    if (now >= this.#dueAt) return this.#ring();
    if (!isOpen) return;
    if (hasContent && this.#phase === firstChunk) this.#arm(streamIdle);
    if (type === "attempt-start" && this.#phase === streamIdle) this.#arm(firstChunk);
    this.#ports.scope.checkDeadline(now);
  }

  get #dueAt(): number {
    if (this.#phase >= finished) return this.#settleBy;
    const limitMs = this.#phase === firstChunk ? this.timeouts.firstChunkMs : this.timeouts.streamIdleMs;
    return Math.min(this.#lastSign + limitMs, this.#lastContent + maxDelays * limitMs, this.#mustEndAt);
  }

  #arm(phase = this.#phase, toolCleanupMs?: number): void {
    this.#phase = phase;
    if (toolCleanupMs !== undefined) this.#settleBy = this.clock.now() + toolCleanupMs;
    this.#alarm.set(this.#dueAt, this.#ring);
  }

  /** Requests the next chunk, after waiting for the promise from `room` if there is one. */
  #goOn(said: "finished" | "over" | undefined, hasContent: boolean): void {
    // A listener may have stopped the run, which closes this stream.
    if (this.#phase === closed) return;
    if (said === "over")
      return this.#close(this.#phase === finished ? this.#verdict : { kind: "failed", error: undefined }, givenUp());
    if (said === "finished" && this.#phase < finished) this.#arm(finished, hangUpAfterMs);
    else if (said === undefined && this.#phase === finished) {
      // A provider wrapper has discarded a finished answer and is trying again, so the first-chunk limit applies again.
      this.heartbeat("waiting");
      this.#arm(firstChunk);
    }
    const room = this.#ports.events?.room();
    const pause = room === undefined ? this.#lull.note(hasContent) : this.#hold(room);
    if (pause === undefined) this.#pull();
    else void pause.then(this.#pull);
  }

  #hold(room: PromiseLike<void>): PromiseLike<void> {
    const since = this.clock.now();
    this.#isHeld = true;
    this.#alarm.silence();
    return room.then(() => {
      this.#isHeld = false;
      if (this.#phase === closed) return;
      this.heartbeat("waiting");
      this.#mustEndAt += this.#lastSign - since;
      this.#arm(this.#phase, this.#phase === finished ? hangUpAfterMs : undefined);
    });
  }

  readonly #fail = (error: unknown): void => {
    this.#close(this.#phase >= finished ? this.#verdict : { kind: "failed", error });
  };

  readonly #ring = (): void => {
    if (this.#phase === closed) return;
    const now = this.clock.now();
    if (now < this.#dueAt) return this.#arm();
    if (this.#phase >= finished) return this.#close(this.#verdict, givenUp());
    const isLong = now >= this.#mustEndAt;
    const { firstChunkMs, streamIdleMs, streamMs = defaultStreamMs } = this.timeouts;
    const idleMs = this.#phase === firstChunk ? firstChunkMs : streamIdleMs;
    const silentMs = now < this.#lastSign + idleMs ? maxDelays * idleMs : idleMs;
    const limitMs = isLong ? streamMs : silentMs;
    const message = isLong ? `The model was still writing after ${limitMs} ms.` : `The model sent nothing for ${limitMs} ms.`;
    const silence = this.#phase === firstChunk ? "first-chunk" : "stream-idle";
    const end = { kind: "timed-out", phase: isLong ? "stream-too-long" : silence, limitMs } as const;
    this.#giveUp(end, new DOMException(message, "TimeoutError"));
  };

  #giveUp(verdict: StreamEnd, reason: unknown): void {
    if (this.#phase >= settling) return;
    const { toolCleanupMs } = this.timeouts;
    if (this.#phase === finished) return this.#close(this.#verdict, reason);
    if (toolCleanupMs === 0 || this.#isHeld) return this.#close(verdict, reason);
    this.#verdict = verdict;
    this.#arm(settling, toolCleanupMs);
    this.#controller.abort(reason);
  }

  #close(end: StreamEnd, reason?: unknown): void {
    if (this.#phase === closed) return;
    this.#phase = closed;
    this.#resolve(end);
    this.#ports.scope.leave(this);
    this.#isLeft = end.kind !== "ended" || reason !== undefined;
    if (this.#isLeft) this.#controller.abort(reason ?? givenUp());
    this.#leave();
  }

  /** Closes the stream. Ignores errors from the clock and the provider. */
  #leave(): void {
    try {
      if (this.#ports.alarm === undefined) this.#alarm.stop();
      else this.#alarm.silence();
      if (this.#isLeft) dropIterator(this.#iterator);
    } catch {
      // Ignores the error, because the stream has already ended.
    }
  }
}
