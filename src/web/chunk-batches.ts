// Reads events and converts them to chunks, for all entry points that show runs on web pages.

import type { LoopEvent } from "../core/index.ts";
import { dropIterator } from "../shared/promises.ts";

/** An event from `streamToolLoop`, or an item from `turnwright/host` that contains an event and its `id`. */
export type EventItem = LoopEvent | { readonly id: string; readonly event: LoopEvent };

/** Converts events to chunks of a wire protocol, one event at a time. */
export interface EventMapper<Chunk> {
  /** Returns the chunks for an event, in order. The array may be empty. */
  map(item: EventItem): readonly Chunk[];
  /**
   * Returns the last chunks. Called once, after the last event. `failure` contains the error that the event source threw.
   */
  end(failure?: { readonly error: unknown }): readonly Chunk[];
  /** True if no more chunks follow, even if more events arrive. The event source is then closed. */
  readonly isOver?: boolean | undefined;
}

export class ChunkBatches<Chunk> {
  readonly #iterator: AsyncIterator<EventItem>;
  readonly #mapper: EventMapper<Chunk>;
  #isOver = false;

  constructor(events: AsyncIterable<EventItem>, mapper: EventMapper<Chunk>) {
    this.#mapper = mapper;
    this.#iterator = events[Symbol.asyncIterator]();
  }

  /**
   * Returns the next one or more chunks, or undefined after the last one. If the event source throws, the last chunks
   * describe the error.
   */
  async next(): Promise<readonly Chunk[] | undefined> {
    while (!this.#isOver) {
      const chunks = await this.#read();
      if (chunks.length > 0) return chunks;
    }
    return undefined;
  }

  leave(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    dropIterator(this.#iterator);
  }

  async #read(): Promise<readonly Chunk[]> {
    try {
      const { done, value } = await this.#iterator.next();
      if (done !== true) {
        const chunks = this.#mapper.map(value);
        if (this.#mapper.isOver === true) this.leave();
        return chunks;
      }
      this.#isOver = true;
      return this.#mapper.end();
    } catch (error) {
      if (this.#isOver) return [];
      this.#isOver = true;
      return this.#mapper.end({ error });
    }
  }
}

/** Reads events on demand. Canceling the stream closes the event source. */
export function toChunkStream<Chunk>(batches: ChunkBatches<Chunk>): ReadableStream<Chunk> {
  return new ReadableStream<Chunk>(
    {
      pull: async (controller) => {
        const chunks = await batches.next();
        if (chunks === undefined) controller.close();
        else for (const chunk of chunks) controller.enqueue(chunk);
      },
      cancel: () => batches.leave(),
    },
    // Uses a high-water mark of 0, so that no event is read before the web page asks for data.
    { highWaterMark: 0 },
  );
}
