import type { EndReason, Journal, LoopStatus, Message, UserMessage } from "../core/index.ts";
import type { ConversationUsage, Handover, RunReport } from "./handover.ts";

/** A conversation in the form that a `ConversationStore` stores: JSON data. */
export interface StoredConversation {
  readonly messages: readonly Message[];
  readonly state: ConversationState;
}

/**
 * The state of a conversation, without its messages. Kept small, because each change stores all of it. The inherited fields hold the values
 * from before `lastRun`, so that a resumed run begins with the same summary and agent.
 */
export interface ConversationState extends Handover {
  /** The number of runs so far, including `lastRun`. */
  readonly runs: number;
  /** Messages that reached a run too late. The next run begins with these messages. */
  readonly undelivered: readonly UserMessage[];
  /** The last run. Undefined if there has been no run yet. */
  readonly lastRun?: StoredRun | undefined;
  /** The runs whose journals exist. Undefined if no journal can be removed. */
  readonly journals?: readonly StoredJournal[] | undefined;
  /** All ended runs whose answers are in the transcript, in order. Undefined without a run host. */
  readonly turns?: readonly ConversationTurn[] | undefined;
}

/** One run of a conversation, with the position of its answer in the transcript. */
export interface ConversationTurn extends Pick<ConversationUsage, "usage" | "costUSD"> {
  readonly runId: string;
  /** The run's messages begin at position `from` and end before position `to`. */
  readonly from: number;
  readonly to: number;
  readonly status: LoopStatus;
  readonly reason: EndReason;
}

/** The journal of a run. */
export interface StoredJournal {
  readonly runId: string;
  /** The number of the run in its conversation, counted from 1. */
  readonly number: number;
  /**
   * The time at which the run ended, in milliseconds since 1970. Undefined if the journal must be kept, because the run has not ended
   * or its cost is unknown.
   */
  readonly endedAt?: number | undefined;
}

/** The last run of a conversation. The inherited fields are undefined until the end of the run is stored. */
export interface StoredRun extends RunReport {
  readonly runId: string;
  /** The number of messages that the run began with. All messages after these are from this run. */
  readonly start: number;
  /** The position of the first message that is removed from the conversation if an input check refuses the run. Default: `start`. */
  readonly own?: number | undefined;
  /**
   * How the run ended, or "running" until its end is stored. The status stays "running" if the run's process was
   * killed.
   */
  readonly status: "running" | LoopStatus;
  /** Why the run ended or is suspended. Undefined while the status is "running". */
  readonly reason?: EndReason | undefined;
  /** Identifies the run's events, which exist only in the memory of its process. Only for a run host. */
  readonly epoch?: string | undefined;
  /**
   * All messages that a run host accepted for steering the run, in order. A resumed run receives those that are missing from its journal.
   */
  readonly steered?: readonly UserMessage[] | undefined;
}

/** A change to a conversation. Its size depends on the new messages, not on the length of the conversation. */
export interface ConversationChange {
  /** The number of messages to keep. All later messages are replaced by `messages`. */
  readonly from: number;
  /** The messages to add after the kept ones. */
  readonly messages: readonly Message[];
  /** Replaces the stored state. */
  readonly state: ConversationState;
}

/**
 * Stores conversations, for `createConversation` and `createRunHost`. Use `memoryConversationStore`, `fileConversationStore` or
 * `postgresConversationStore`, or implement a store and check it with `conversationStoreSuite` from `turnwright/testing`. Ids can be
 * any strings.
 */
export interface ConversationStore {
  /** Returns a conversation without locking it, or undefined if it does not exist. Must never return a partial change. */
  load(id: string): StoredConversation | undefined | PromiseLike<StoredConversation | undefined>;
  /**
   * Locks a conversation for one writer. The conversation need not exist. Rejects with LoopError "conversation-busy" while
   * another writer holds the lock, in this or another process. A lock held by a process that has died must be released.
   */
  lock(id: string): ConversationLock | PromiseLike<ConversationLock>;
  /**
   * Returns true while a writer holds the lock, in this or another process. Returns false if the writer's process has died.
   */
  isLocked(id: string): boolean | PromiseLike<boolean>;
  /** Lists all conversations, in any order. Default: the store cannot list conversations. */
  list?(): AsyncIterable<StoredListing> | Iterable<StoredListing>;
  /** Deletes a conversation. Has no effect if it does not exist. Rejects with "conversation-busy" while it is locked. */
  remove(id: string): void | PromiseLike<void>;
  /**
   * Returns the journal of a run. Each call with the same `runId` must return a journal with the same records. The conversation's
   * lock keeps other processes from using the journal. Default: a run host keeps the journals in memory.
   */
  readonly journal?: ((runId: string) => Journal) | undefined;
  /** Deletes the journal of a run. Has no effect if it does not exist. Default: a run host keeps the journals. */
  readonly removeJournal?: ((runId: string) => void | PromiseLike<void>) | undefined;
}

/** A store from this package. It can list its conversations, and provides a journal for each run. */
export interface BuiltInConversationStore extends ConversationStore {
  list(): AsyncIterable<StoredListing> | Iterable<StoredListing>;
  readonly journal: (runId: string) => Journal;
  readonly removeJournal: (runId: string) => void | PromiseLike<void>;
}

/** A conversation in a store's list. */
export interface StoredListing {
  readonly id: string;
  /** The time of the last change, in milliseconds since 1970. */
  readonly changedAt: number;
}

/** A lock held by one writer. */
export interface ConversationLock {
  /** The conversation as it was when locked. Undefined if it does not exist. */
  readonly stored: StoredConversation | undefined;
  /**
   * Stores a change so that a crash cannot lose it. After a crash during the call, either the whole change or nothing is stored. Rejects
   * with "conversation-busy" without storing anything if the lock was lost.
   */
  append(change: ConversationChange): void | PromiseLike<void>;
  /** Unlocks the conversation. */
  release(): void | PromiseLike<void>;
  /** Aborted when the lock may have been lost to another writer. This stops the run. Omit `lost` if the store's locks cannot be lost. */
  readonly lost?: AbortSignal | undefined;
}
