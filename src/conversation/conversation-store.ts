import type { CompactedMessages, EndReason, LastRequest, LoopStatus, Message, Usage, UserMessage } from "../core/entry-kit.ts";

/** A conversation as a `ConversationStore` stores it. Plain data. */
export interface StoredConversation {
  readonly messages: readonly Message[];
  readonly state: ConversationState;
}

/** The facts about a conversation besides its messages. Small, because each change stores all of them. */
export interface ConversationState {
  /** The number of runs so far, including `lastRun`. */
  readonly runs: number;
  /** The usage of all runs before `lastRun`. */
  readonly usage: Usage;
  /** The cost in USD of all runs before `lastRun`. Undefined if the cost of any of these runs is unknown. */
  readonly costUSD?: number | undefined;
  /** The summary that `lastRun` began with. Without `lastRun`, the summary that the first run will begin with. */
  readonly compaction?: CompactedMessages | undefined;
  /** The agent at the end of the run before `lastRun`. Undefined without `policies.handoffs`. */
  readonly agent?: string | undefined;
  /**
   * Digests of the final request that was sent before `lastRun` began. The prompt-cache check compares the first request of
   * `lastRun` with this one.
   */
  readonly lastRequest?: LastRequest | undefined;
  /** Messages that reached a run too late. The next run begins with these messages. */
  readonly undelivered: readonly UserMessage[];
  /** The last run. Undefined if there was no run yet. */
  readonly lastRun?: StoredRun | undefined;
}

/** The last run of a conversation. */
export interface StoredRun {
  readonly runId: string;
  /** The number of messages that the run began with. All messages after these are from this run. */
  readonly start: number;
  /**
   * How the run ended. "running" until the end of the run is stored. The status stays "running" if the process of the run was
   * killed.
   */
  readonly status: "running" | LoopStatus;
  /** Why the run ended or is suspended. Undefined while the status is "running". */
  readonly reason?: EndReason | undefined;
  /** The usage of the run. Undefined while it is unknown. */
  readonly usage?: Usage | undefined;
  /** The cost of the run in USD. Undefined if it is unknown. */
  readonly costUSD?: number | undefined;
  /** The newest summary of the run. Undefined if the run made no summary. */
  readonly compaction?: CompactedMessages | undefined;
  /** The agent at the end of the run. Undefined without `policies.handoffs`. */
  readonly agent?: string | undefined;
  /** Digests of the final request of the run. Undefined if the run did not watch the prompt cache. */
  readonly lastRequest?: LastRequest | undefined;
}

/** A change of a conversation. Its size depends on the new messages, not on the length of the conversation. */
export interface ConversationChange {
  /** The number of messages to keep. All later messages are replaced by `messages`. */
  readonly from: number;
  /** The messages to add after the kept ones. */
  readonly messages: readonly Message[];
  /** Replaces the stored state. */
  readonly state: ConversationState;
}

/**
 * Stores conversations. Use `memoryConversationStore`, `fileConversationStore` or `postgresConversationStore`, or implement a
 * store and check it with `conversationStoreSuite` from `turnwright/testing`. Ids may be any strings.
 */
export interface ConversationStore {
  /** Returns a conversation without locking it, or undefined if it does not exist. Must never return half of a change. */
  load(id: string): StoredConversation | undefined | PromiseLike<StoredConversation | undefined>;
  /**
   * Locks a conversation for one writer. The conversation need not exist. Rejects with LoopError "conversation-busy" while
   * another writer holds the lock, in this or another process. The lock of a process that has died must become free.
   */
  lock(id: string): ConversationLock | PromiseLike<ConversationLock>;
  /**
   * Returns true while a writer holds the lock, in this or another process. Returns false if the process of the writer has died.
   */
  isLocked(id: string): boolean | PromiseLike<boolean>;
  /** Deletes a conversation. Has no effect if it does not exist. Rejects with "conversation-busy" while it is locked. */
  remove(id: string): void | PromiseLike<void>;
}

/** The lock of one writer. */
export interface ConversationLock {
  /** The conversation at the time of the lock. Undefined if it does not exist. */
  readonly stored: StoredConversation | undefined;
  /**
   * Stores a change so that a crash cannot lose it. A crash during the call stores the whole change or nothing. Rejects with
   * "conversation-busy" without storing anything if the lock was lost.
   */
  append(change: ConversationChange): void | PromiseLike<void>;
  /** Unlocks the conversation. */
  release(): void | PromiseLike<void>;
  /**
   * Aborted if another writer may have the lock now. The abort stops the run. Omit `lost` if a lock of this store cannot be lost.
   */
  readonly lost?: AbortSignal | undefined;
}
