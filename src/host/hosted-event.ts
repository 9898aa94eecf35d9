import type { LoopEvent } from "../core/entry-kit.ts";

/**
 * One event of a hosted run. `id` is an opaque string that is unique in the run. To get all later events, pass this `id` as the
 * option `from` of `host.join`.
 */
export interface HostedEvent {
  readonly id: string;
  readonly event: LoopEvent;
}

/** The events of a hosted run for one reader. Can be iterated only once. */
export interface HostedStream extends AsyncIterable<HostedEvent> {
  readonly runId: string;
  /**
   * True if this process does not know the event id that was passed as `from`. The reader then gets all events from the start of
   * the run, so a page must clear what it shows.
   */
  readonly restarted: boolean;
  /** True if the run has ended and this reader has read all events. An endpoint can then answer with 204. */
  readonly isOver: boolean;
}

/** The options for joining a run. */
export interface JoinOptions {
  /** The id of the last event that the reader has. Default: the reader gets all events from the start of the run. */
  readonly from?: string | undefined;
  /** When this signal aborts, the reader leaves the run, and the iteration ends without an error. */
  readonly signal?: AbortSignal | undefined;
}
