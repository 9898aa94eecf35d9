// Reads a provider's stream chunk by chunk, and guards it against silence, cancellation, and a reader that is slower than the
// model. Uses callbacks instead of `for await`, so that a chunk costs one promise and giving up waits for nothing.

import type { Clock, Timeouts } from "../types/common.ts";
import type { EventSink } from "../types/loop-event.ts";
import type { ModelCall, ModelChunk } from "../types/provider.ts";
import { IdleTimer, Lull } from "../cancellation/deadline.ts";
import { isContent } from "../utils/texts.ts";
import { dropPromise } from "../utils/promises.ts";
import { isThenable } from "../utils/guards.ts";
import { LazySignal } from "../cancellation/signals.ts";
import { abortReasonOf, type Cancellable, type CancelReason, type CancelScope } from "../cancellation/cancel-scope.ts";

/** How a guarded stream ended. */
export type StreamEnd =
  | { readonly kind: "ended" }
  | { readonly kind: "failed"; readonly error: unknown }
  | { readonly kind: "silent"; readonly phase: "first-chunk" | "stream-idle"; readonly limitMs: number }
  | { readonly kind: "cancelled"; readonly cause: CancelReason };

/** The part of the run that a guard uses. */
export interface GuardPorts {
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly scope: CancelScope;
  /** A timer that consecutive streams share. Default: one of its own. */
  readonly alarm?: IdleTimer | undefined;
  /** Called after each chunk. Returns a promise while the reader is behind. */
  readonly events?: Pick<EventSink, "room"> | undefined;
}

/** The stream that a guard reads. */
export interface GuardedStream {
  readonly iteration: number;
  readonly mayAsk?: ModelCall["mayAsk"];
  open(call: ModelCall): AsyncIterable<ModelChunk>;
  /** Takes a chunk. After an expired limit only usage is passed, so that none is lost. */
  take(chunk: ModelChunk): void;
  /** True if the chunks so far end the stream, so that nothing more is awaited. */
  readonly isOver?: boolean | undefined;
  /** True if the answer is complete, so that errors and silence no longer change it. */
  readonly hasFinished?: boolean | undefined;
}

/** How far heartbeats may extend a limit on silence, as a multiple of its length. Otherwise they could extend it forever. */
const mostDelays = 12;

/** How long a provider may leave its stream open after `finish`, in milliseconds. */
const hangUpAfterMs = 1_000;

const ended: StreamEnd = { kind: "ended" };
const failed: StreamEnd = { kind: "failed", error: undefined };
const givenUp = (): unknown => new DOMException("The stream was given up.", "AbortError");

/** Gets the iterator of a stream. An untyped provider may return anything. */
export function iterateChunks(stream: AsyncIterable<ModelChunk>): AsyncIterator<ModelChunk> {
  const given: unknown = stream;
  if (isThenable(given)) {
    dropPromise(given);
    throw new TypeError(
      "The provider's stream() gave a promise; it must be an async generator, or answer an async iterable at once.",
    );
  }
  const isIterable = typeof given === "object" && given !== null && Symbol.asyncIterator in given;
  if (!isIterable) throw new TypeError("What the provider's stream() gave is no async iterable.");
  const iterator = stream[Symbol.asyncIterator]();
  if (isThenable(iterator)) dropPromise(iterator);
  return iterator;
}

/** Guards one stream. Does not wait for a stream that ignores its signal. */
export class StreamGuard implements ModelCall, Cancellable {
  readonly iteration: number;
  readonly clock: Clock;
  readonly timeouts: Timeouts;
  readonly mayAsk: ModelCall["mayAsk"];
  readonly #stream: GuardedStream;
  readonly #ports: GuardPorts;
  readonly #alarm: IdleTimer;
  #signal: LazySignal | undefined;
  #iterator: AsyncIterator<ModelChunk> | undefined;
  #phase: "first-chunk" | "stream-idle" | "finished" | "settling" | "closed" = "first-chunk";
  #held = false;
  #lastSign = 0;
  #lastContent = 0;
  readonly #lull = new Lull();
  #settleBy = 0;
  #resolve: (end: StreamEnd) => void = () => {};
  /** The end of the stream, once it has settled. */
  #verdict: StreamEnd = ended;

  constructor(stream: GuardedStream, ports: GuardPorts) {
    this.iteration = stream.iteration;
    this.clock = ports.clock;
    this.timeouts = ports.timeouts;
    this.mayAsk = stream.mayAsk;
    this.#stream = stream;
    this.#ports = ports;
    this.#alarm = ports.alarm ?? new IdleTimer(ports.clock);
  }

  get signal(): AbortSignal {
    return this.#lazySignal().signal;
  }

  // A field, so that a provider may destructure the call.
  readonly heartbeat: ModelCall["heartbeat"] = (state) => {
    this.#lastSign = this.clock.now();
    if (state === "waiting") this.#lastContent = this.#lastSign;
  };

  /** Restarts all limits. */
  #refresh(): void {
    this.heartbeat("waiting");
  }

  /** Reads the stream to its end, or until a limit expires. Never rejects. */
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
    this.#alarm.set(this.#dueAt, this.#ring);
    try {
      this.#iterator = iterateChunks(this.#stream.open(this));
      // The run may have ended while the provider opened its stream.
      if (this.#isClosed()) this.#leave();
      else this.#pull();
    } catch (error) {
      this.#close({ kind: "failed", error });
    }
    return end;
  }

  /** The wall clock lets the stream settle, so that its usage is counted. Every other cause closes it at once. */
  cancel(cause: CancelReason): void {
    const end: StreamEnd = { kind: "cancelled", cause };
    if (cause.kind === "wall-clock") this.#giveUp(end, () => abortReasonOf(cause));
    else this.#close(end, () => abortReasonOf(cause));
  }

  #pull(): void {
    try {
      // The `next` of a provider may return a plain value, or throw synchronously.
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
      if (this.#phase !== "settling" || chunk.type === "usage") this.#stream.take(chunk);
      this.#goOn(hasContent);
    } catch (error) {
      this.#fail(error);
    }
  };

  #onSignOfLife({ type }: ModelChunk, hasContent: boolean): void {
    const now = this.clock.now();
    if (this.#phase === "settling" || this.#phase === "finished") return this.#settleUntil(now);
    if (hasContent) this.#refresh();
    // A new attempt gets the time limit of a first chunk.
    else if (type === "attempt-start" || type === "attempt-discarded") this.#lastSign = now;
    // A stream that never waits lets no timer fire.
    else if (now >= this.#dueAt) return this.#ring();
    const phase = hasContent ? "stream-idle" : type === "attempt-start" ? "first-chunk" : this.#phase;
    if (this.#phase !== phase) {
      this.#phase = phase;
      this.#alarm.set(this.#dueAt, this.#ring);
    }
    this.#ports.scope.checkDeadline(now);
  }

  get #limitMs(): number {
    return this.#phase === "first-chunk" ? this.timeouts.firstChunkMs : this.timeouts.streamIdleMs;
  }

  get #dueAt(): number {
    const limitMs = this.#limitMs;
    return Math.min(this.#lastSign + limitMs, this.#lastContent + mostDelays * limitMs);
  }

  /** Also called for each chunk, because a stream that never waits lets no timer fire. */
  #settleUntil(now: number): void {
    if (now >= this.#settleBy) this.#close(this.#verdict, givenUp);
  }

  /** Requests the next chunk when the reader has room for it. Until then, silence is not the model's. */
  #goOn(hasContent: boolean): void {
    if (this.#isClosed()) return;
    if (this.#stream.isOver === true) return this.#close(this.#phase === "finished" ? ended : failed, givenUp);
    this.#followFinish();
    const room = this.#ports.events?.room();
    if (room !== undefined) return this.#hold(room);
    const pause = this.#lull.note(hasContent);
    if (pause === undefined) this.#pull();
    else void pause.then(() => this.#isClosed() || this.#pull());
  }

  #hold(room: PromiseLike<void>): void {
    this.#held = true;
    void room.then(() => {
      this.#held = false;
      this.#resume();
      if (!this.#isClosed()) this.#pull();
    });
  }

  /** Restarts the limits, so that the time without room does not count. */
  #resume(): void {
    this.#refresh();
    if (this.#phase === "finished") this.#settleIn(hangUpAfterMs);
  }

  /** Follows `hasFinished`: a wrapper may discard a finished answer, and go on with another attempt. */
  #followFinish(): void {
    const hasFinished = this.#stream.hasFinished === true;
    if (this.#phase === "settling" || hasFinished === (this.#phase === "finished")) return;
    if (hasFinished) {
      this.#phase = "finished";
      this.#settleIn(hangUpAfterMs);
    } else {
      this.#phase = "first-chunk";
      this.#refresh();
      this.#alarm.set(this.#dueAt, this.#ring);
    }
  }

  #settleIn(ms: number): void {
    this.#settleBy = this.clock.now() + ms;
    this.#alarm.set(this.#settleBy, this.#ring);
  }

  /** True if the stream is closed. Taking a chunk may close it, for example if a listener stops the run. */
  #isClosed(): boolean {
    return this.#phase === "closed";
  }

  readonly #fail = (error: unknown): void => {
    if (this.#phase === "closed") return;
    const isSettled = this.#phase === "settling" || this.#phase === "finished";
    this.#close(isSettled ? this.#verdict : { kind: "failed", error });
  };

  readonly #ring = (): void => {
    if (this.#phase === "closed") return;
    if (this.#held) this.#resume();
    if (this.#phase === "settling" || this.#phase === "finished") return this.#settleUntil(this.clock.now());
    const now = this.clock.now();
    if (now < this.#dueAt) return this.#alarm.set(this.#dueAt, this.#ring);
    const limitMs = now < this.#lastSign + this.#limitMs ? mostDelays * this.#limitMs : this.#limitMs;
    const silence = (): unknown => new DOMException(`The model was silent for ${limitMs} ms.`, "TimeoutError");
    this.#giveUp({ kind: "silent", phase: this.#phase, limitMs }, silence);
  };

  /** Aborts the stream, and waits at most `settleMs` for its last chunks. */
  #giveUp(verdict: StreamEnd, reason: () => unknown): void {
    if (this.#phase === "closed" || this.#phase === "settling") return;
    // The answer is complete already.
    if (this.#phase === "finished") return this.#close(ended, reason);
    const { settleMs } = this.timeouts;
    if (settleMs === 0 || this.#held) return this.#close(verdict, reason);
    this.#phase = "settling";
    this.#verdict = verdict;
    this.#settleIn(settleMs);
    this.#lazySignal().abort(reason);
  }

  #close(end: StreamEnd, reason?: () => unknown): void {
    if (this.#phase === "closed") return;
    this.#phase = "closed";
    this.#ports.scope.leave(this);
    if (this.#ports.alarm === undefined) this.#alarm.stop();
    else this.#alarm.silence();
    if (end.kind !== "ended" || reason !== undefined) this.#abandon(reason ?? givenUp);
    this.#resolve(end);
  }

  #lazySignal(): LazySignal {
    this.#signal ??= new LazySignal();
    return this.#signal;
  }

  /** Aborts the provider's stream, and does not wait for it. */
  #abandon(reason: () => unknown): void {
    this.#lazySignal().abort(reason);
    this.#leave();
  }

  #leave(): void {
    try {
      this.#iterator?.return?.()?.then(undefined, () => {});
    } catch {
      // Errors of closing a stream are ignored.
    }
  }
}
