// A run as a stream of chunks.

import { dropPromise } from "../core/entry-kit.ts";
import { createUIMessageMapper, type UIEventItem, type UIMessageMapper } from "./create-ui-message-mapper.ts";
import type { UIMessageChunk } from "./ui-message-chunk.ts";
import type { UIMessageOptions } from "./ui-message-options.ts";

/** Reads events, and returns their chunks in batches. */
export class ChunkBatches {
  readonly #iterator: AsyncIterator<UIEventItem>;
  readonly #mapper: UIMessageMapper;
  #isOver = false;

  constructor(events: AsyncIterable<UIEventItem>, options: UIMessageOptions) {
    this.#mapper = createUIMessageMapper(options);
    this.#iterator = events[Symbol.asyncIterator]();
  }

  /** Returns the next chunks, at least one; undefined after the last ones. An error of the source becomes the last chunks. */
  async next(): Promise<readonly UIMessageChunk[] | undefined> {
    while (!this.#isOver) {
      const chunks = await this.#read();
      if (chunks.length > 0) return chunks;
    }
    return undefined;
  }

  /** Leaves the source. Nothing waits for it. */
  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    try {
      dropPromise(this.#iterator.return?.());
    } catch {
      // The reader has left, so this error cannot be reported.
    }
  }

  async #read(): Promise<readonly UIMessageChunk[]> {
    try {
      const { done, value } = await this.#iterator.next();
      if (done !== true) return this.#mapper.map(value);
      this.#isOver = true;
      return this.#mapper.end();
    } catch (error) {
      if (this.#isOver) return [];
      this.#isOver = true;
      return this.#mapper.end({ error });
    }
  }
}

/**
 * Turns the events of a run into the chunks that `useChat` reads. `events` comes from `streamToolLoop` or from `host.join`. The
 * source is read as fast as the stream is. Cancelling the stream returns the iterator of the source, and does nothing else: the run
 * of `streamToolLoop` then stops, that of a host goes on.
 *
 * The stream never fails. If the source throws, an `error` chunk with a neutral text is the last but one. Throws LoopError
 * "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const stream = toUIMessageStream(streamToolLoop({ provider, tools, messages }), { version: 7 });
 */
export function toUIMessageStream(
  events: AsyncIterable<UIEventItem>,
  options: UIMessageOptions = {},
): ReadableStream<UIMessageChunk> {
  const batches = new ChunkBatches(events, options);
  return new ReadableStream<UIMessageChunk>(
    {
      pull: async (controller) => {
        const chunks = await batches.next();
        if (chunks === undefined) controller.close();
        else for (const chunk of chunks) controller.enqueue(chunk);
      },
      cancel: () => batches.leave(),
    },
    // Reading begins with the reader.
    { highWaterMark: 0 },
  );
}
