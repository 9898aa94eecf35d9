// Reads the stream of an SDK.

import type { ModelCall, ModelChunk } from "../types/provider.ts";
import type { Clock } from "../types/common.ts";
import { type FollowingSignal, followSignal } from "../cancellation/signals.ts";
import { isRecord } from "../utils/guards.ts";
import { Lull } from "../cancellation/deadline.ts";
import { isContent } from "../utils/texts.ts";
import { providerError } from "../errors/provider-error.ts";

/** Turns the events of one API into chunks, and pushes them to the array that it was made with. */
export interface EventReader {
  read(event: unknown): void;
  /** Adds the last chunks when the stream is over. */
  end(): void;
  /** True if an event reported that the stream has failed. The rest is not read. */
  readonly failed: boolean;
  /** True if the service reported why the model stopped. More events may follow, such as token counts. */
  readonly finished: boolean;
  /** True if nothing more is expected. Default false: a finished stream gets a few seconds for its last events. */
  readonly isOver?: boolean;
  /** True if a finished answer may go on, so that a lost connection may have cut it off. Default false. */
  readonly mayGoOn?: boolean;
}

/** A stream of an SDK, and its reader. */
export interface SdkStream {
  /** Requests the stream from the SDK. */
  open(signal: AbortSignal): PromiseLike<unknown>;
  readonly reader: EventReader;
  /** Receives the chunks of the reader. */
  readonly out: ModelChunk[];
}

/** How long a connection may stay open after the last expected event, in milliseconds. */
const hangUpAfterMs = 1_000;

/** How long a finished answer waits for its token counts or for more text, in milliseconds. */
const quietAfterMs = 5_000;

/**
 * Yields the chunks of an SDK's stream. Errors of the SDK are thrown until the answer is finished. After that, an error, garbage
 * or a lost connection changes nothing, unless the reader says that a finished answer may go on. A finished answer is complete
 * when its stream ends, or after a short silence.
 *
 * Each event without content is a heartbeat. If the reader leaves, even while it waits, the SDK's signal fires, because not every
 * SDK closes the connection by itself.
 */
export function readSdkStream(stream: SdkStream, call: ModelCall): AsyncIterableIterator<ModelChunk, void, undefined> {
  let followed: FollowingSignal | undefined;
  const chunks = readChunks(stream, call, () => (followed = followSignal(call.signal)));
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: () => chunks.next(),
    return() {
      // A waiting generator would only notice `return` after the next event.
      followed?.abort();
      return chunks.return();
    },
  };
}

async function* readChunks(
  { open, reader, out }: SdkStream,
  call: ModelCall,
  follow: () => FollowingSignal,
): AsyncGenerator<ModelChunk, void, undefined> {
  const followed = follow();
  const patience = new Patience(reader, call.clock, followed.signal);
  let events: AsyncIterator<unknown> | undefined;
  let hasEnded = false;
  /** Takes an event. Returns false at the end. */
  function take(event: IteratorResult<unknown> | undefined): boolean {
    hasEnded = event?.done === true;
    if (event === undefined || hasEnded) return false;
    reader.read(event.value);
    const hasContent = out.some(isContent);
    if (!hasContent) call.heartbeat();
    patience.note(hasContent);
    return true;
  }
  try {
    events = iterate(await unlessAborted(open, followed.signal));
    while (take(await patience.next(events))) {
      // Usually there is one chunk per event. Setting the array's length to 0 would make the next push allocate. A loop, because
      // `yield*` would wait once more for each chunk.
      const only = out.length === 1 ? out.pop() : undefined;
      if (only !== undefined) yield only;
      else for (const chunk of out.splice(0)) yield chunk;
      if (reader.failed) return;
    }
  } catch (error) {
    if (isLeft(followed, call)) return;
    if (!reader.finished || reader.mayGoOn === true) throw error;
  } finally {
    followed.release();
    if (!hasEnded) {
      followed.abort();
      leave(events);
    }
  }
  reader.end();
  yield* out;
}

/** Waits for events: without a limit until the answer is finished, and only briefly after that. */
class Patience {
  readonly #reader: EventReader;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #lull = new Lull();
  #hasContent = false;
  #limitMs = Number.POSITIVE_INFINITY;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(reader: EventReader, clock: Clock, signal: AbortSignal) {
    this.#reader = reader;
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Records if the last event had content. */
  note(hasContent: boolean): void {
    this.#hasContent = hasContent;
  }

  /**
   * Returns the next event. Undefined if the answer is complete without one. The limit starts now, because the reader may have
   * been slow.
   */
  next(events: AsyncIterator<unknown>): Promise<IteratorResult<unknown> | undefined> {
    this.#setLimit();
    const pause = this.#lull.note(this.#hasContent);
    return pause === undefined ? this.#ask(events) : unlessAborted(() => pause, this.#signal).then(() => this.#ask(events));
  }

  /** Only content restarts the limit, because a service may send pings and counts forever. */
  #setLimit(): void {
    const { finished, isOver } = this.#reader;
    const limitMs = isOver === true ? hangUpAfterMs : finished ? quietAfterMs : Number.POSITIVE_INFINITY;
    if (!this.#hasContent && limitMs === this.#limitMs) return;
    this.#limitMs = limitMs;
    this.#dueAt = limitMs === Number.POSITIVE_INFINITY ? limitMs : this.#clock.now() + limitMs;
  }

  #ask(events: AsyncIterator<unknown>): Promise<IteratorResult<unknown> | undefined> {
    if (this.#dueAt === Number.POSITIVE_INFINITY) return events.next();
    const waitMs = this.#dueAt - this.#clock.now();
    return waitMs <= 0 ? Promise.resolve(undefined) : this.#within(waitMs, events);
  }

  #within(waitMs: number, events: AsyncIterator<unknown>): Promise<IteratorResult<unknown> | undefined> {
    return new Promise((resolve, reject) => {
      // Requested before the timer is set, which would remain if the iterator threw synchronously. It may also return a plain
      // value.
      const next = Promise.resolve(events.next());
      const timer = this.#clock.setTimeout(() => resolve(undefined), waitMs);
      const end = next.then(resolve, reject);
      void end.then(() => this.#clock.clearTimeout(timer));
    });
  }
}

/** Stops waiting when the signal fires, because the SDK may ignore it. A later result is dropped. */
function unlessAborted<Stream>(open: (signal: AbortSignal) => PromiseLike<Stream>, signal: AbortSignal): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new DOMException("This operation was aborted", "AbortError"));
    if (signal.aborted) return giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    // Called often in a long stream, so the listener has to be removed.
    const letGo = (): void => signal.removeEventListener("abort", giveUp);
    open(signal).then(resolve, reject).then(letGo);
  });
}

/** True if the reader has left, so that an error cannot be reported. */
function isLeft(followed: FollowingSignal, { signal }: ModelCall): boolean {
  return followed.signal.aborted && !signal.aborted;
}

/** Closes a stream without waiting for it. */
function leave(events: AsyncIterator<unknown> | undefined): void {
  try {
    events?.return?.()?.then(undefined, () => {});
  } catch {
    // Errors of closing a stream are ignored.
  }
}

function iterate(stream: unknown): AsyncIterator<unknown> {
  if (isStream(stream)) return stream[Symbol.asyncIterator]();
  throw providerError("server", "The client answered without a stream.");
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return isRecord(value) && typeof Reflect.get(value, Symbol.asyncIterator) === "function";
}
