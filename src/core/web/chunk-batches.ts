// The events of a run as chunks that a page reads, one event at a time.

import type { LoopEvent } from "../types/loop-event.ts";
import { dropPromise } from "../utils/promises.ts";

/** An event of `streamToolLoop`, or of a reader of a host. */
export type EventItem = LoopEvent | { readonly id: string; readonly event: LoopEvent };

/** Turns events into chunks, one event at a time. */
export interface EventMapper<Chunk> {
  /** Returns the chunks of an event, in order. */
  map(item: EventItem): readonly Chunk[];
  /** Returns the last chunks. Called once, after the last event, or with the error that the source threw. */
  end(failure?: { readonly error: unknown }): readonly Chunk[];
  /** True once nothing more is sent, whatever comes. The source is left then. */
  readonly isOver?: boolean | undefined;
}

/** Reads events, and returns their chunks in batches. */
export class ChunkBatches<Chunk> {
  readonly #iterator: AsyncIterator<EventItem>;
  readonly #mapper: EventMapper<Chunk>;
  #isOver = false;

  constructor(events: AsyncIterable<EventItem>, mapper: EventMapper<Chunk>) {
    this.#mapper = mapper;
    this.#iterator = events[Symbol.asyncIterator]();
  }

  /** Returns the next chunks, at least one; undefined after the last ones. An error of the source becomes the last chunks. */
  async next(): Promise<readonly Chunk[] | undefined> {
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

/** Returns the chunks as a stream, which is read as fast as its reader reads. Cancelling it leaves the source. */
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
    // Reading begins with the reader.
    { highWaterMark: 0 },
  );
}
