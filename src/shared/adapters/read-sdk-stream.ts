import type { ModelCall, ModelChunk } from "../../core/types/provider.ts";
import type { Clock } from "../../core/types/common.ts";
import { type FollowingSignal, followSignal, untilAborted } from "../signals.ts";
import { isRecord } from "../guards.ts";
import { dropIterator, Lull } from "../promises.ts";
import { isContent } from "../texts.ts";
import type { ErrorWord } from "../errors/error-words.ts";
import { providerError } from "../errors/provider-error.ts";
import { withErrorWords } from "../errors/provider-checks.ts";
import { toProviderError } from "../errors/read-sdk-error.ts";

/**
 * Returns the last chunks of a stream that ends with an error, or undefined if the error itself is enough.
 *
 * Services report a filtered prompt and a malformed call as an error, or as the end of an answer. Both must end the stream in the same
 * way, so that a filtered prompt is not sent to another provider, and the model is asked to repeat a malformed call.
 */
function settleError(error: unknown, errorWords?: readonly ErrorWord[]): readonly ModelChunk[] | undefined {
  const read = toProviderError(error);
  const found = withErrorWords(read, errorWords);
  const { code, message } = found;
  if (code !== "content-filter" && code !== "malformed-call") {
    return found === read ? undefined : [{ type: "error", error: found }];
  }
  const finish: ModelChunk = { type: "finish", reason: code, raw: code };
  // Sends the message as details, because it comes from the service's filter and is not part of the answer.
  return code === "content-filter" ? [{ type: "details", text: message }, finish] : [finish];
}

/** Converts the events of one provider API to chunks, and pushes the chunks to `out`. */
export interface EventReader {
  read(event: unknown): void;
  /** Pushes the last chunks after the stream has ended. */
  end(): void;
  /** True if an event reported that the stream failed. The rest of the stream is then not read. */
  readonly failed: boolean;
  /** True once the service has reported why the model stopped. More events may follow, such as token counts. */
  readonly finished: boolean;
  /** True if no more events are expected. If false, a finished stream has 5 seconds to send its last events. Default false. */
  readonly isOver?: boolean;
  /** True if a finished answer may still continue. A lost connection is then an error. Default false. */
  readonly mayGoOn?: boolean;
}

/** An SDK's stream, and the reader for its events. */
export interface SdkStream {
  /** Sends the request, and returns the SDK's stream. */
  open(signal: AbortSignal): PromiseLike<unknown>;
  readonly reader: EventReader;
  /** The array that the reader pushes chunks to. */
  readonly out: ModelChunk[];
  /** Returns the error to report when the SDK throws one. May first push chunks to the stream. Default: the SDK's error. */
  readonly explain?: ((error: unknown) => unknown) | undefined;
  /** Patterns for error messages, each with an error code. They take precedence over the built-in ones. Default: none. */
  readonly errorWords?: readonly ErrorWord[] | undefined;
}

/** How long a connection may stay open after the last expected event, in milliseconds. */
const hangUpAfterMs = 1_000;

/** How long to wait for token counts or more text after a finished answer, in milliseconds. */
const quietAfterMs = 5_000;

/**
 * Yields the chunks of an SDK's stream. Errors from the SDK are thrown until the answer has finished. After that, an error,
 * invalid data or a lost connection is ignored, unless the reader's `mayGoOn` is true. A finished answer is complete when its
 * stream ends, or after a short silence.
 *
 * An error that reports a filtered prompt or a malformed call becomes a `finish` chunk, whether it was thrown or arrived in the stream.
 *
 * Each event without content counts as a heartbeat. If the consumer stops reading, even while it waits for a chunk, the SDK's
 * signal is aborted, because some SDKs would otherwise keep the connection open.
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
      // Aborts first, because a generator that awaits an event reacts to `return` only after that event.
      followed?.abort();
      return chunks.return();
    },
  };
}

async function* readChunks(
  { open, reader, out, errorWords, explain }: SdkStream,
  call: ModelCall,
  follow: () => FollowingSignal,
): AsyncGenerator<ModelChunk, void, undefined> {
  const followed = follow();
  const patience = new Patience(reader, call.clock, followed.signal);
  let events: AsyncIterator<unknown> | undefined;
  let hasEnded = false;
  function take(event: IteratorResult<unknown> | undefined): boolean {
    hasEnded = event?.done === true;
    if (event === undefined || hasEnded) return false;
    reader.read(event.value);
    if (reader.failed) settleChunks(out, errorWords);
    const hasContent = out.some(isContent);
    if (!hasContent) call.heartbeat();
    patience.note(hasContent);
    return true;
  }
  try {
    events = iterate(await unlessAborted(open, followed.signal));
    while (take(await patience.next(events))) {
      // Usually there is only one chunk, and `pop` keeps the array's memory for the next one. The loop avoids `yield*`, which would add an
      // `await` for each chunk.
      const only = out.length === 1 ? out.pop() : undefined;
      if (only !== undefined) yield only;
      else for (const chunk of out.splice(0)) yield chunk;
      if (reader.failed) return;
    }
  } catch (thrown) {
    if (isLeft(followed, call)) return;
    const error = explain === undefined ? thrown : explain(thrown);
    if (!reader.finished || reader.mayGoOn === true) return yield* endWith(error, { out, errorWords });
  } finally {
    followed.release();
    if (!hasEnded) {
      followed.abort();
      dropIterator(events);
    }
  }
  reader.end();
  yield* out;
}

function* endWith(error: unknown, { out, errorWords }: Pick<SdkStream, "out" | "errorWords">): Generator<ModelChunk, void> {
  yield* out.splice(0);
  const settled = settleError(error, errorWords);
  if (settled === undefined) throw error;
  yield* settled;
}

function settleChunks(out: ModelChunk[], errorWords: SdkStream["errorWords"]): void {
  const settled = out.flatMap((chunk) => (chunk.type === "error" ? (settleError(chunk.error, errorWords) ?? chunk) : chunk));
  out.splice(0, out.length, ...settled);
}

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

  note(hasContent: boolean): void {
    this.#hasContent = hasContent;
  }

  /**
   * Returns the next event, or undefined if a finished answer has been silent for too long. The limit starts when this method is
   * called, so the time the consumer takes to process a chunk does not count.
   */
  next(events: AsyncIterator<unknown>): Promise<IteratorResult<unknown> | undefined> {
    this.#setLimit();
    const pause = this.#lull.note(this.#hasContent);
    return pause === undefined ? this.#ask(events) : unlessAborted(() => pause, this.#signal).then(() => this.#ask(events));
  }

  /** Sets the time limit for silence. Only content restarts it, because a service may send pings and token counts forever. */
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
      // Calls `next` before setting the timer, so that no timer is left if it throws. `next` may also return a plain value.
      const next = Promise.resolve(events.next());
      const timer = this.#clock.setTimeout(() => resolve(undefined), waitMs);
      const end = next.then(resolve, reject);
      void end.then(() => this.#clock.clearTimeout(timer));
    });
  }
}

/**
 * Calls `open`. Rejects as soon as the signal is aborted, because the SDK may ignore the signal. A later result of `open` is
 * dropped.
 */
function unlessAborted<Stream>(open: (signal: AbortSignal) => PromiseLike<Stream>, signal: AbortSignal): Promise<Stream> {
  const toError = (): Error => new DOMException("This operation was aborted", "AbortError");
  return signal.aborted ? Promise.reject(toError()) : untilAborted(open(signal), signal, toError);
}

function isLeft(followed: FollowingSignal, { signal }: ModelCall): boolean {
  return followed.signal.aborted && !signal.aborted;
}

function iterate(stream: unknown): AsyncIterator<unknown> {
  if (isStream(stream)) return stream[Symbol.asyncIterator]();
  throw providerError("server", "The client did not return a stream.");
}

export function isStream(value: unknown): value is AsyncIterable<unknown> {
  return isRecord(value) && typeof Reflect.get(value, Symbol.asyncIterator) === "function";
}
