import type { LoopEvent } from "../types/loop-event.ts";
import { dropPromise } from "../utils/promises.ts";

/** An event from `streamToolLoop`, or an item from a reader of `turnwright/host`, which has an `id` and the event. */
export type EventItem = LoopEvent | { readonly id: string; readonly event: LoopEvent };

/** Converts events to chunks, one event at a time. */
export interface EventMapper<Chunk> {
  /** Returns the chunks for an event, in order. The array may be empty. */
  map(item: EventItem): readonly Chunk[];
  /** Returns the last chunks. Call it once, after the last event. If the source threw an error, pass the error. */
  end(failure?: { readonly error: unknown }): readonly Chunk[];
  /** True if no more chunks will follow, even if more events arrive. The iteration of the source is then ended. */
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
   * Returns the next batch, which has at least one chunk, or undefined after the last batch. If the source throws, the last batch is
   * made from the error.
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
    try {
      dropPromise(this.#iterator.return?.());
    } catch {
      // The reader has left, so this error cannot be reported.
    }
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

/** Returns a stream of the chunks. Events are read only when the stream is read. Cancelling the stream ends the iteration of the source. */
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
    // With 0, the source is not read before the stream is read.
    { highWaterMark: 0 },
  );
}
