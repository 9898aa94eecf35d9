import type { EndReason, Journal, LoopStatus, Message, UserMessage } from "../core/entry-kit.ts";

/** A conversation as a `RunStore` stores it. Plain data. */
export interface ConversationRecord {
  /** The number of runs so far, at least 1. The `runId` of the last run is `<conversation>/<runs>`. */
  readonly runs: number;
  /** How the last run ended. "running" until the end of the run is stored, and also after a crash. */
  readonly status: "running" | LoopStatus;
  /** Why the last run ended or is suspended. Undefined while the status is "running". */
  readonly reason?: EndReason | undefined;
  /**
   * The transcript after the last run. While the status is "running", the transcript contains only the messages that the run
   * began with.
   */
  readonly messages: readonly Message[];
  /** Identifies the events of the last run, which are only in the memory of the process of that run. */
  readonly epoch?: string | undefined;
  /** Messages that were steered to the last run but did not reach the model. The next run begins with them. */
  readonly undelivered?: readonly UserMessage[] | undefined;
  /**
   * All messages that the host accepted for steering the last run, in order. A resumed run gets the messages in this list that
   * are missing in its journal.
   */
  readonly steered?: readonly UserMessage[] | undefined;
}

/**
 * Stores conversations and the journals of their runs. Use `memoryRunStore` or `fileRunStore`, or implement a store on a database
 * that several machines share. Ids may be any strings, so do not use them as file names or as keys of plain objects.
 */
export interface RunStore {
  /** Returns the record of a conversation, or undefined if the conversation does not exist. */
  read(id: string): ConversationRecord | undefined | PromiseLike<ConversationRecord | undefined>;
  /** Creates or replaces the record of a conversation atomically. */
  write(id: string, record: ConversationRecord): void | PromiseLike<void>;
  /**
   * Returns the journal of run `number` in a conversation; the first run is number 1. Each call for the same run must return a
   * journal with the same records. The journal must have `read`, because a resume reads the journal. If several processes share
   * the store, the journal's `open` must reject with LoopError "journal-locked" while another process has the journal open.
   */
  journal(id: string, number: number): Journal;
}
