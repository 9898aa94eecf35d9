// Reads the stream of an SDK.

import type { ModelCall, ModelChunk } from "../types/provider.ts";
import type { Clock } from "../types/common.ts";
import { type FollowingSignal, followSignal } from "../cancellation/signals.ts";
import { isRecord } from "../utils/guards.ts";
import { Lull } from "../cancellation/deadline.ts";
import { isContent } from "../utils/texts.ts";
import { providerError } from "../errors/provider-error.ts";

/** Turns the events of one wire into chunks, which it puts into the array that it was made with. */
export interface EventReader {
  read(event: unknown): void;
  /** Adds the last chunks once the stream is over. */
  end(): void;
  /** Whether an event said that the stream has failed: the rest is not read. */
  readonly failed: boolean;
  /** Whether the service said why the model stopped. More may follow, such as the token counts. */
  readonly finished: boolean;
  /** Whether nothing more is expected. Default false: a finished stream gets some seconds for its last events. */
  readonly isOver?: boolean;
  /** Whether a finished answer may go on, so that a lost connection may have taken the rest of it. Default false. */
  readonly mayGoOn?: boolean;
}

/** A stream of an SDK, and how to read it. */
export interface SdkStream {
  /** Asks the SDK for its stream. */
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
 * Yields the chunks of an SDK's stream. Errors of the SDK pass through until the answer is finished. After that, an error, garbage
 * or a lost connection changes nothing, unless the wire says that a finished answer may go on. A finished answer is complete when
 * its stream ends, or has said nothing more for a short time.
 *
 * Each event without content is a heartbeat. If the reader leaves, also while it waits, the signal that the SDK was given fires,
 * because not every SDK hangs up by itself.
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
      // A generator that waits would not hear of it before the next event.
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
  /** Whether there was one more event. */
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
      // One for one is the rule, and emptying an array by its length would make the next push allocate. A loop, because `yield*` of
      // an array waits for each chunk once more.
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

/** Waits for events: without a limit until the answer is finished, and not much longer after that. */
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

  /** Takes down what the last event brought. */
  note(hasContent: boolean): void {
    this.#hasContent = hasContent;
  }

  /** The next event. Undefined if the answer is complete without one. Counts from now: a reader may have taken its time. */
  next(events: AsyncIterator<unknown>): Promise<IteratorResult<unknown> | undefined> {
    this.#setLimit();
    const pause = this.#lull.note(this.#hasContent);
    return pause === undefined ? this.#ask(events) : unlessAborted(() => pause, this.#signal).then(() => this.#ask(events));
  }

  /** Only content puts the end off: a service may send pings and counts for ever. */
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
      // Before the timer, which an iterator that throws at once would leave behind. It may also answer without a promise.
      const next = Promise.resolve(events.next());
      const timer = this.#clock.setTimeout(() => resolve(undefined), waitMs);
      const end = next.then(resolve, reject);
      void end.then(() => this.#clock.clearTimeout(timer));
    });
  }
}

/** A model may be deaf to its signal. What it answers later is nobody's: it has the signal to tell. */
function unlessAborted<Stream>(open: (signal: AbortSignal) => PromiseLike<Stream>, signal: AbortSignal): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new DOMException("This operation was aborted", "AbortError"));
    if (signal.aborted) return giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    // A long stream comes here often: listeners that stayed would pile up on its signal.
    const letGo = (): void => signal.removeEventListener("abort", giveUp);
    open(signal).then(resolve, reject).then(letGo);
  });
}

/** Whether the reader has gone: then there is nobody to tell. */
function isLeft(followed: FollowingSignal, { signal }: ModelCall): boolean {
  return followed.signal.aborted && !signal.aborted;
}

/** Closes what a stream holds, and waits for nobody. */
function leave(events: AsyncIterator<unknown> | undefined): void {
  try {
    events?.return?.()?.then(undefined, () => {});
  } catch {
    // A stream that cannot even be left has nothing more to say.
  }
}

function iterate(stream: unknown): AsyncIterator<unknown> {
  if (isStream(stream)) return stream[Symbol.asyncIterator]();
  throw providerError("server", "The client answered without a stream.");
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return isRecord(value) && typeof Reflect.get(value, Symbol.asyncIterator) === "function";
}
