import type { LoopEvent } from "../core/entry-kit.ts";

/**
 * One event of a hosted run. `id` is an opaque string that is unique in the run. A reader that passes an `id` as `from` gets all later
 * events.
 */
export interface HostedEvent {
  readonly id: string;
  readonly event: LoopEvent;
}

/** A reader of a hosted run. A reader can be iterated only once. */
export interface HostedStream extends AsyncIterable<HostedEvent> {
  readonly runId: string;
  /**
   * True if `from` was given, but is not the id of an event of this run in this process. The reader then gets all events from the start.
   * A page must therefore clear what it shows.
   */
  readonly restarted: boolean;
  /** True if the run has ended and the reader has no more events to read. An endpoint then answers with 204. */
  readonly isOver: boolean;
}

/** The options of a reader: where it begins to read, and when it leaves. */
export interface JoinOptions {
  /** The id of the last event that the reader already has. Default: reads from the start of the run. */
  readonly from?: string | undefined;
  /** When this signal aborts, the reader leaves the run, and its iteration ends without an error. */
  readonly signal?: AbortSignal | undefined;
}
