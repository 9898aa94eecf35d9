// Writes the events of one execution of a run to the store, without those that an earlier execution has already written.

import type { LoopEvent } from "../../core/entry-kit.ts";
import type { DurableStore } from "./durable-store.ts";

/** How long events are collected before they are written together, in milliseconds. */
const collectMs = 20;

const deltas: ReadonlySet<string> = new Set(["text-delta", "reasoning-delta", "tool-args-delta", "tool-progress"]);

/** The place of an event in its run. A replay emits the same events at the same places. */
function placeOf(event: LoopEvent): string {
  const { type, iteration, path = [] } = event;
  const call = "callId" in event ? event.callId : "";
  const continuation = "continuation" in event ? event.continuation : 0;
  return JSON.stringify([type, path, iteration, continuation, call]);
}

/** The stream of a model that a delta belongs to. */
function streamOf({ iteration, path = [] }: LoopEvent): string {
  return JSON.stringify([path, iteration]);
}

export class EventWriter {
  readonly #store: DurableStore;
  readonly #runId: string;
  readonly #execution: number;
  /** How many events of earlier executions are stored for each place. */
  readonly #stored = new Map<string, number>();
  /** The streams with deltas from earlier executions, which a new attempt replaces. */
  readonly #partial = new Set<string>();
  readonly #emitted = new Map<string, number>();
  #waiting: string[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last: Promise<void> = Promise.resolve();
  #isFenced = false;

  private constructor(store: DurableStore, runId: string, execution: number) {
    this.#store = store;
    this.#runId = runId;
    this.#execution = execution;
  }

  static async begin(store: DurableStore, runId: string): Promise<EventWriter> {
    const execution = await store.begin(runId);
    const writer = new EventWriter(store, runId, execution);
    let rows = execution === 1 ? [] : await store.readEvents(runId, 0);
    while (rows.length > 0) {
      for (const { body } of rows) writer.#noteStored(JSON.parse(body) as LoopEvent);
      rows = await store.readEvents(runId, (rows.at(-1)?.seq ?? 0) + 1);
    }
    return writer;
  }

  #noteStored(event: LoopEvent): void {
    if (event.type === "attempt-discarded") this.#partial.delete(streamOf(event));
    else if (deltas.has(event.type)) this.#partial.add(streamOf(event));
    else count(this.#stored, placeOf(event));
  }

  readonly take = (event: LoopEvent): void => {
    if (event.type === "replay-end") return;
    if (deltas.has(event.type)) {
      // The deltas of a recorded stream were written before the stream was recorded.
      if (event.replayed === true) {
        this.#partial.delete(streamOf(event));
        return;
      }
      this.#discardPartial(event);
    } else if (event.type !== "attempt-discarded" || event.replayed === true) {
      const place = placeOf(event);
      if (count(this.#emitted, place) <= (this.#stored.get(place) ?? 0)) return;
    }
    this.#write({ ...event, replayed: undefined });
  };

  /** Tells readers that the earlier deltas of this stream are replaced by a new attempt. */
  #discardPartial(event: LoopEvent): void {
    if (event.type === "tool-progress" || !this.#partial.delete(streamOf(event))) return;
    const { runId, iteration, path } = event;
    this.#write({ type: "attempt-discarded", runId, iteration, path });
  }

  #write(event: LoopEvent): void {
    if (this.#isFenced) return;
    this.#waiting.push(toText(event));
    this.#timer ??= setTimeout(() => void this.flush(), collectMs);
  }

  /** Writes the collected events. Resolves when all events so far are stored. If the store fails, they are written later. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#last = this.#last.then(() => this.#append());
    return this.#last;
  }

  async #append(): Promise<void> {
    const bodies = this.#waiting;
    if (bodies.length === 0) return;
    this.#waiting = [];
    try {
      this.#isFenced = !(await this.#store.append(this.#runId, this.#execution, bodies));
    } catch {
      this.#waiting = [...bodies, ...this.#waiting];
      this.#timer ??= setTimeout(() => void this.flush(), collectMs * 10);
    }
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#isFenced = true;
  }
}

function count(counts: Map<string, number>, key: string): number {
  const next = (counts.get(key) ?? 0) + 1;
  counts.set(key, next);
  return next;
}

/** Values that JSON cannot represent can only be in `tool-progress`, and in the metadata of results. */
function toText(event: LoopEvent): string {
  try {
    return JSON.stringify(event);
  } catch {
    return JSON.stringify({ ...event, data: undefined, metadata: undefined });
  }
}
