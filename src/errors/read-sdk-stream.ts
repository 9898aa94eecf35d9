// Reads what a provider's SDK streams into chunks: what each adapter does in the same way, whatever its wire.

import type { ModelChunk } from "../contract/provider.ts";
import { followSignal } from "../kit/follow-signal.ts";
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
}

/** A stream of an SDK, and how to read it. */
export interface SdkStream {
  /** Asks the SDK for its stream. */
  open(signal: AbortSignal): PromiseLike<unknown>;
  readonly reader: EventReader;
  /** Where the reader puts its chunks. */
  readonly out: ModelChunk[];
}

/**
 * Yields the chunks of an SDK's stream. What the SDK throws passes through, but for a connection that is lost after the answer is
 * complete: then nothing was taken away but perhaps the token counts. Where a stream is left before its end, the signal that the SDK
 * was given fires, because not every SDK hangs up by itself.
 */
export async function* readSdkStream(
  { open, reader, out }: SdkStream,
  signal: AbortSignal,
): AsyncGenerator<ModelChunk, void, undefined> {
  const followed = followSignal(signal);
  let isOver = false;
  try {
    const stream = await open(followed.signal);
    if (!isStream(stream)) throw providerError("server", "The client answered without a stream.");
    for await (const event of stream) {
      reader.read(event);
      // One for one is the rule, and emptying an array by its length would make the next push allocate. A loop, because `yield*` of
      // an array waits for each chunk once more.
      const only = out.length === 1 ? out.pop() : undefined;
      if (only !== undefined) yield only;
      else if (out.length > 0) for (const chunk of out.splice(0)) yield chunk;
      if (reader.failed) return;
    }
    isOver = true;
  } catch (error) {
    if (!reader.finished || toProviderError(error).code !== "network") throw error;
  } finally {
    followed.release();
    if (!isOver) followed.abort();
  }
  reader.end();
  yield* out;
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return isRecord(value) && typeof Reflect.get(value, Symbol.asyncIterator) === "function";
}
