import type { EndReason, Journal, LoopStatus, Message, UserMessage } from "../core/entry-kit.ts";

/** A conversation as its store keeps it. Plain data. */
export interface ConversationRecord {
  /** The number of runs so far, at least 1. The last one has the id `<conversation>/<runs>`. */
  readonly runs: number;
  /** How the last run ended. "running" until it has ended, also if its process is gone. */
  readonly status: "running" | LoopStatus;
  /** Why the last run ended, or what it waits for. */
  readonly reason?: EndReason | undefined;
  /** The transcript after the last run, or the messages that it began with while it is "running". */
  readonly messages: readonly Message[];
  /** Names the events of the last execution, in the memory of its process. */
  readonly epoch?: string | undefined;
  /** Steered messages that the last run did not send to its model. The next run begins with them. */
  readonly undelivered?: readonly UserMessage[] | undefined;
  /**
   * All messages that the host accepted to steer the last run, in order. After a crash, the run continues with those that its journal
   * does not have.
   */
  readonly steered?: readonly UserMessage[] | undefined;
}

/**
 * Keeps conversations and the journals of their runs. `memoryRunStore` and `fileRunStore` are two; a database that several machines
 * share is another. Ids are any text, so a store must not use them as file names or as keys of plain objects.
 */
export interface RunStore {
  /** Returns the record of a conversation; undefined if there is none. */
  read(id: string): ConversationRecord | undefined | PromiseLike<ConversationRecord | undefined>;
  /** Replaces the record of a conversation, in one step. */
  write(id: string, record: ConversationRecord): void | PromiseLike<void>;
  /**
   * Returns the journal of a run: run `number` of a conversation, from 1. Another call for the same run returns a journal with the
   * same records. If several processes share the store, its `open` must reject with LoopError "journal-locked" while another one
   * has it open. Its `read` is needed to resume a run.
   */
  journal(id: string, number: number): Journal;
}
