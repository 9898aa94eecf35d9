// Reads what a provider's SDK streams into chunks: what each adapter does in the same way, whatever its wire.

import type { Clock } from "../contract/clock.ts";
import type { ModelCall, ModelChunk } from "../contract/provider.ts";
import { type FollowingSignal, followSignal } from "../kit/follow-signal.ts";
import { isRecord } from "../kit/is-record.ts";
import { providerError, toProviderError } from "./provider-error.ts";

/** What makes chunks of a wire's events; it puts them into the array that it was made with. */
export interface EventReader {
  read(event: unknown): void;
  /** What is left to say once the stream is over. */
  end(): void;
  /** Whether an event said that the stream has failed: the rest is not read. */
  readonly failed: boolean;
  /** Whether the answer is complete, though the stream may go on. */
  readonly finished: boolean;
  /** Whether the last event has come, so that nothing that follows is read. Default false: only the stream itself can tell. */
  readonly isOver?: boolean;
}

/** A stream of an SDK, and how to read it. */
export interface SdkStream {
  /** Asks the SDK for its stream. */
  open(signal: AbortSignal): PromiseLike<unknown>;
  readonly reader: EventReader;
  /** Where the reader puts its chunks. */
  readonly out: ModelChunk[];
}

/** How long a connection may stay open behind the last event before it is closed, in milliseconds. */
const hangUpAfterMs = 1_000;

/**
 * Yields the chunks of an SDK's stream. What the SDK throws passes through, but for a connection that is lost after the answer is
 * complete: then nothing was taken away but perhaps the token counts. Where a stream is left before its end, also while it waits, the
 * signal that the SDK was given fires, because not every SDK hangs up by itself. Each event of which nothing is told is a heartbeat.
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
  let events: AsyncIterator<unknown> | undefined;
  let hasEnded = false;
  /** Whether there was one more event. */
  function take({ done = false, value }: IteratorResult<unknown>): boolean {
    hasEnded = done;
    if (!done) reader.read(value);
    if (out.length === 0) call.heartbeat();
    return !done;
  }
  try {
    events = iterate(await unlessAborted(open, followed.signal));
    while (reader.isOver !== true && take(await events.next())) {
      // One for one is the rule, and emptying an array by its length would make the next push allocate. A loop, because `yield*` of
      // an array waits for each chunk once more.
      const only = out.length === 1 ? out.pop() : undefined;
      if (only !== undefined) yield only;
      else for (const chunk of out.splice(0)) yield chunk;
      if (reader.failed) return;
    }
    hasEnded ||= await endsSoon(events, call.clock);
  } catch (error) {
    if (isLeft(followed, call)) return;
    if (!isLateLoss(error, reader)) throw error;
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

/** A model may be deaf to its signal. What it answers later is nobody's: it has the signal to tell. */
function unlessAborted<Stream>(open: (signal: AbortSignal) => PromiseLike<Stream>, signal: AbortSignal): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const giveUp = (): void => reject(new DOMException("This operation was aborted", "AbortError"));
    if (signal.aborted) return giveUp();
    signal.addEventListener("abort", giveUp, { once: true });
    open(signal).then(resolve, reject);
  });
}

/** Whether a stream ends by itself, so that its connection can be used again. Some services keep it open for ever. */
function endsSoon(events: AsyncIterator<unknown>, clock: Clock): Promise<boolean> {
  return new Promise((resolve, reject) => {
    // Before the timer, which an iterator that throws at once would leave behind.
    const next = Promise.resolve(events.next());
    const timer = clock.setTimeout(() => resolve(false), hangUpAfterMs);
    const end = next.then(({ done }) => resolve(done === true), reject);
    void end.then(() => clock.clearTimeout(timer));
  });
}

/** Whether the reader has gone: then there is nobody to tell. */
function isLeft(followed: FollowingSignal, { signal }: ModelCall): boolean {
  return followed.signal.aborted && !signal.aborted;
}

/** Whether a connection was lost behind a complete answer. */
function isLateLoss(error: unknown, { finished }: EventReader): boolean {
  return finished && toProviderError(error).code === "network";
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
