import type { EndReason, Journal, LoopStatus, Message, UserMessage } from "../core/entry-kit.ts";

/** The stored record of a conversation. It is plain data. */
export interface ConversationRecord {
  /** The number of runs so far, at least 1. The `runId` of the last run is `<conversation>/<runs>`. */
  readonly runs: number;
  /** How the last run ended. "running" until the run has ended, even if its process has crashed. */
  readonly status: "running" | LoopStatus;
  /** Why the last run ended, or what the run waits for. Undefined while the status is "running". */
  readonly reason?: EndReason | undefined;
  /** The transcript after the last run. While the status is "running", the messages that the run began with. */
  readonly messages: readonly Message[];
  /** Identifies the log with the events of the last run, which only the process of that run has in memory. */
  readonly epoch?: string | undefined;
  /** Messages that were steered to the last run but not sent to the model. The next run begins with them. */
  readonly undelivered?: readonly UserMessage[] | undefined;
  /**
   * All messages that the host accepted for steering the last run, in order. When the run is resumed, it gets the messages that its journal
   * does not have.
   */
  readonly steered?: readonly UserMessage[] | undefined;
}

/**
 * Stores conversations and the journals of their runs. Use `memoryRunStore` or `fileRunStore`, or implement a store on a database that
 * several machines share. An id may be any string, so do not use ids as file names or as keys of plain objects.
 */
export interface RunStore {
  /** Returns the record of a conversation, or undefined if the conversation does not exist. */
  read(id: string): ConversationRecord | undefined | PromiseLike<ConversationRecord | undefined>;
  /** Creates or replaces the record of a conversation atomically. */
  write(id: string, record: ConversationRecord): void | PromiseLike<void>;
  /**
   * Returns the journal of run `number` in a conversation. The first run is number 1. Another call for the same run must return a journal
   * with the same records. If several processes share the store, `open` of the journal must reject with LoopError "journal-locked" while
   * another process has the journal open. The journal needs `read` to resume runs.
   */
  journal(id: string, number: number): Journal;
}
