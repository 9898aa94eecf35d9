// Converts a run's events to chunks for a web page. All UI protocols share this code.

import type { LoopEvent, LoopEvents } from "../core/index.ts";
import { isSpending, type SpendingEvent } from "../shared/event-table.ts";
import type { EventItem, EventMapper } from "./chunk-batches.ts";
import type { Entry, PageRun } from "./page-run.ts";
import { addToCost, noCost } from "./page-values.ts";

type RunEnd = LoopEvents["run-end"];

/** An event of a nested run. */
export type NestedEvent = LoopEvent & { readonly path: readonly string[] };

interface Failure {
  readonly error: unknown;
}

/** Maps events to entries for both values of the `from` option. Each page receives only some of the entries. */
export abstract class PageMapper<Chunk, Run extends PageRun<Chunk>> implements EventMapper<Entry<Chunk>> {
  /** The chunks of the current event. `PageRun` adds to the same array. */
  protected readonly out: Entry<Chunk>[] = [];
  #run: Run | undefined;
  /** The most recent `run-end`. It is handled only when the source ends, because the events of a resumed run may follow. */
  #ending: RunEnd | undefined;
  /** True after a resumed run has begun. It replays events that this stream has already sent. */
  #isResumed = false;
  #cost = noCost;

  protected abstract start(runId: string): Run;
  /** Adds an event of a nested run. `isSent` is true if this stream has sent the event before. */
  protected abstract addNested(run: Run, event: NestedEvent, isSent: boolean): void;
  /**
   * True if the call has really ended. False if it ends only because its nested run is suspended, and continues when the run is
   * resumed.
   */
  protected abstract endsCall(run: Run, event: LoopEvents["tool-end"]): boolean;
  /** Sends the last chunks. `end` is undefined if the source ended before `run-end`, or threw the error in `failure`. */
  protected abstract finish(run: Run | undefined, end: RunEnd | undefined, failure: Failure | undefined): void;

  map(item: EventItem): readonly Entry<Chunk>[] {
    const event = "type" in item ? item : item.event;
    if (event.path === undefined) this.#addOwn(event);
    else if (this.#run !== undefined) this.addNested(this.#run, event as NestedEvent, this.#isSent(event));
    return this.out.splice(0);
  }

  end(failure?: Failure): readonly Entry<Chunk>[] {
    const end = failure === undefined ? this.#ending : undefined;
    this.#ending = undefined;
    if (this.#run === undefined && failure === undefined) return [];
    this.#run?.close(end);
    this.finish(this.#run, end, failure);
    return this.out.splice(0);
  }

  protected send(chunk: Chunk): void {
    this.out.push({ chunk, audience: "all" });
  }

  #isSent({ replayed }: LoopEvent): boolean {
    return replayed === true && this.#isResumed;
  }

  #addOwn(event: LoopEvent): void {
    const run = (this.#run ??= this.start(event.runId));
    if (this.#ending !== undefined) this.#isResumed = true;
    this.#ending = event.type === "run-end" ? event : undefined;
    if (this.#ending !== undefined || this.#isSent(event)) return;
    if (event.type === "tool-end" && !this.endsCall(run, event)) return;
    run.add(event);
    if (isSpending(event)) this.#count(run, event);
  }

  #count(run: Run, event: SpendingEvent): void {
    const cost = addToCost(this.#cost, event);
    if (cost === this.#cost) return;
    this.#cost = cost;
    run.note("cost", cost);
  }
}

/** Returns a filter for one value of the `from` option. The filter keeps the entries that a page with this value receives. */
export function audienceOf({ from }: { readonly from?: "start" | "live" | undefined }): (entry: Entry<unknown>) => boolean {
  const skipped = from === "live" ? "recalled" : "again";
  return ({ audience }) => audience !== skipped;
}

/** Returns a mapper that produces only the chunks for one value of the `from` option. */
export function selectChunks<Chunk>(
  mapper: EventMapper<Entry<Chunk>>,
  options: { readonly from?: "start" | "live" | undefined },
): EventMapper<Chunk> {
  const isSent = audienceOf(options);
  const select = (entries: readonly Entry<Chunk>[]): Chunk[] => entries.filter(isSent).map(({ chunk }) => chunk);
  return { map: (item) => select(mapper.map(item)), end: (failure) => select(mapper.end(failure)) };
}
