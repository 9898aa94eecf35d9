// Writes one execution's events and records to the store, except for events that an earlier execution has already written.

import type { LoopEvent } from "../../core/index.ts";
import { rowOf } from "../../shared/event-table.ts";
import { packEvent, type StoredEvent } from "./durable-records.ts";
import type { Begun, DurableStore, StepRecord } from "./durable-store.ts";
import { repeatFailed } from "../../shared/repeat-failed.ts";

/** How long events are collected before they are written together, in milliseconds. */
const collectMs = 20;

/** How long to wait before retrying a failed write, for example while the database restarts, in milliseconds. */
const retryMs = 250;

function isPiece(event: LoopEvent): boolean {
  return rowOf(event).isPiece === true;
}

/** Returns an event's place in its run. A replay emits the same events in the same places. */
function placeOf(event: LoopEvent): string {
  const { type, iteration, path = [] } = event;
  const call = "callId" in event ? event.callId : "";
  const continuation = "continuation" in event ? event.continuation : 0;
  return JSON.stringify([type, path, iteration, continuation, call]);
}

export class EventWriter {
  readonly #store: DurableStore;
  readonly #runId: string;
  readonly execution: number;
  /** The next event's position. */
  #next: number;
  readonly stalls: number;
  readonly input: string | undefined;
  /** True if an event waiting to be written shows progress: it is neither a delta nor `attempt-discarded`. */
  #isProgress = false;
  /** How many events from earlier executions are stored for each place. */
  readonly #stored = new Map<string, number>();
  /** The streams that have stored deltas and may have been cut off. A new request to the model replaces these deltas. */
  readonly #partial = new Set<string>();
  /** Each run's last continuation number, by the run's path. */
  readonly #continuations = new Map<string, number>();
  readonly #emitted = new Map<string, number>();
  #waiting: string[] = [];
  #records: StepRecord[] = [];
  /** The large strings that the next `flush` stores. */
  #blobs = new Map<string, string>();
  readonly #blobIds = new Set<string>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last: Promise<void> = Promise.resolve();
  #isFenced = false;

  private constructor(store: DurableStore, runId: string, { execution, events, stalls, input }: Begun) {
    this.#store = store;
    this.#runId = runId;
    this.execution = execution;
    this.#next = events;
    this.stalls = stalls;
    this.input = input;
  }

  /** True if this execution has ended, or a newer execution has begun. This writer then writes nothing more. */
  get isFenced(): boolean {
    return this.#isFenced;
  }

  /** Begins an execution of a run. Rejects with NotOwner if this execution does not own the run. */
  static async begin(store: DurableStore, runId: string, claim: number): Promise<EventWriter> {
    const begun = await store.begin(runId, claim);
    const writer = new EventWriter(store, runId, begun);
    let rows = begun.events === 0 ? [] : await store.readEvents(runId, 0);
    while (rows.length > 0) {
      for (const { body } of rows) writer.#noteStored((JSON.parse(body) as StoredEvent).event);
      rows = await store.readEvents(runId, (rows.at(-1)?.seq ?? 0) + 1);
    }
    writer.#continuations.clear();
    return writer;
  }

  #noteStored(event: LoopEvent): void {
    const stream = this.#streamOf(event);
    if (event.type === "attempt-discarded") this.#partial.delete(stream);
    else if (isText(event)) this.#partial.add(stream);
    if (!isPiece(event) && event.type !== "attempt-discarded") count(this.#stored, placeOf(event));
  }

  #streamOf(event: LoopEvent): string {
    const { iteration, path = [] } = event;
    const run = JSON.stringify(path);
    if (event.type === "iteration-start") this.#continuations.set(run, event.continuation);
    return JSON.stringify([run, iteration, this.#continuations.get(run) ?? 0]);
  }

  /** Prepares for a replay. Call this method before each execution of the loop, because the loop then emits its earlier events again. */
  replay(): void {
    this.#emitted.clear();
    this.#continuations.clear();
  }

  readonly take = (event: LoopEvent): void => {
    if (event.type === "replay-end" || isPause(event)) return;
    this.#discardPartial(this.#streamOf(event), event);
    if (isPiece(event)) {
      // Skips a replayed delta, because a stream's deltas are stored before the stream itself is recorded.
      if (event.replayed === true) return;
    } else if (event.type !== "attempt-discarded" || event.replayed === true) {
      const place = placeOf(event);
      if (count(this.#emitted, place) <= (this.#stored.get(place) ?? 0)) return;
      count(this.#stored, place);
    }
    this.#write({ ...event, replayed: undefined });
  };

  /** Tells readers that new deltas replace the earlier deltas of a stream, unless the stream was recorded. */
  #discardPartial(stream: string, { type, runId, iteration, path, replayed }: LoopEvent): void {
    // A replayed `iteration-start` proves that the stream was recorded. Other replayed events do not, and neither does `run-start`, which
    // is never marked as replayed.
    if (type === "run-start" || (replayed === true && type !== "iteration-start")) return;
    if (!this.#partial.delete(stream) || replayed === true || type === "attempt-discarded") return;
    this.#write({ type: "attempt-discarded", runId, iteration, path });
  }

  #write(event: LoopEvent): void {
    if (this.#isFenced) return;
    this.#isProgress ||= !isPiece(event) && event.type !== "attempt-discarded";
    const texts = new Map<string, string>();
    this.#waiting.push(toText(event, texts));
    for (const [id, text] of texts) this.addBlob(id, text);
    this.#timer ??= setTimeout(() => void this.flush().catch(() => {}), collectMs);
  }

  addBlob(id: string, text: string): void {
    if (this.#blobIds.has(id)) return;
    this.#blobIds.add(id);
    this.#blobs.set(id, text);
  }

  /** Writes a record together with the preceding events and large strings. Rejects if a newer execution of the run has begun. */
  writeRecord(record: StepRecord): Promise<void> {
    this.#records.push(record);
    return this.flush();
  }

  /**
   * Writes the collected events and large strings. Resolves when all events from this execution are stored. Rejects if a newer execution of
   * the run has begun, because the store then drops the events.
   */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const written = this.#last.then(() => this.#append()).then(() => this.#refuseFenced());
    this.#last = written.catch(() => {});
    return written;
  }

  #refuseFenced(): void {
    if (this.#isFenced) throw new Error("Another execution of this run has begun, so this one stops.");
  }

  async #append(): Promise<void> {
    const events = this.#waiting;
    const records = this.#records;
    const blobs = this.#blobs;
    if (events.length + records.length + blobs.size === 0) return;
    this.#waiting = [];
    this.#records = [];
    this.#blobs = new Map();
    const added = { first: this.#next, events, records, blobs, isProgress: this.#isProgress };
    this.#isProgress = false;
    // Repeats the write until it succeeds or this execution ends, because readers would miss a lost event.
    const append = (): Promise<boolean> => this.#store.append(this.#runId, this.execution, added);
    const isCurrent = await repeatFailed(append, { everyMs: retryMs, mayRepeat: () => !this.#isFenced });
    this.#isFenced ||= !isCurrent;
    this.#next += events.length;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#isFenced = true;
  }
}

/** True if a run or iteration ends only because it has to wait, and will continue later. */
function isPause(event: LoopEvent): boolean {
  if (event.type === "iteration-end") return event.calls.some(({ outcome }) => outcome === "waiting");
  return event.type === "run-end" && event.status === "suspended" && event.reason.kind !== "drained";
}

/** True for a delta from a model stream. `tool-progress` and `tool-emit` belong to a tool call. */
function isText({ type }: LoopEvent): boolean {
  return type.endsWith("-delta");
}

function count(counts: Map<string, number>, key: string): number {
  const next = (counts.get(key) ?? 0) + 1;
  counts.set(key, next);
  return next;
}

/**
 * Converts an event to JSON text. If JSON cannot represent the event, omits the data of `tool-progress` and the metadata of
 * results. JSON can represent all other fields.
 */
function toText(event: LoopEvent, texts: Map<string, string>): string {
  try {
    return JSON.stringify(packEvent(event, texts));
  } catch {
    return JSON.stringify(packEvent({ ...event, data: undefined, metadata: undefined } as unknown as LoopEvent, texts));
  }
}
