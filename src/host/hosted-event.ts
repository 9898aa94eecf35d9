import type { LoopEvent } from "../core/entry-kit.ts";

/**
 * One event of a hosted run. `id` is opaque, unique in the run, and ordered: a reader that passes it as `from` gets everything after
 * it.
 */
export interface HostedEvent {
  readonly id: string;
  readonly event: LoopEvent;
}

/** A reader of a hosted run. It can be iterated once. */
export interface HostedStream extends AsyncIterable<HostedEvent> {
  readonly runId: string;
  /**
   * True if `from` was given and does not belong to this run in this process. The reader then gets everything, so a page has to
   * clear what it shows.
   */
  readonly restarted: boolean;
  /** True if the run has ended and the reader has everything already. An endpoint answers with 204. */
  readonly isOver: boolean;
}

/** The options of a reader: its first event, and when it leaves. */
export interface JoinOptions {
  /** The id of the last event that the reader has. Default: the start of the run. */
  readonly from?: string | undefined;
  /** Leaves the run when it aborts. The iteration then ends without an error. */
  readonly signal?: AbortSignal | undefined;
}
