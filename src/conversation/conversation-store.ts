import type { CompactedMessages, EndReason, LastRequest, LoopStatus, Message, Usage, UserMessage } from "../core/entry-kit.ts";

/** A conversation as a `ConversationStore` stores it. Plain data. */
export interface StoredConversation {
  readonly messages: readonly Message[];
  readonly state: ConversationState;
}

/** The facts about a conversation besides its messages. Small, because each change stores all of them. */
export interface ConversationState {
  /** The number of runs so far, including the last one. */
  readonly runs: number;
  /** The usage of all runs before the last one. */
  readonly usage: Usage;
  /** The cost in USD of all runs before the last one. Undefined if the cost of any of these runs is unknown. */
  readonly costUSD?: number | undefined;
  /** The summary with which the last run began. If there was no run yet, the next run begins with it. */
  readonly compaction?: CompactedMessages | undefined;
  /** The agent at the end of the run before the last one. Undefined without `policies.handoffs`. */
  readonly agent?: string | undefined;
  /**
   * The last request before the last run, as digests. The prompt-cache check compares the first request of the last run with it.
   */
  readonly lastRequest?: LastRequest | undefined;
  /** Messages that reached a run too late. The next run begins with them. */
  readonly undelivered: readonly UserMessage[];
  /** The last run. Undefined if there was no run yet. */
  readonly lastRun?: StoredRun | undefined;
}

/** The last run of a conversation. */
export interface StoredRun {
  readonly runId: string;
  /** The number of messages with which the run began. All later messages of the conversation are from this run. */
  readonly start: number;
  /** How the run ended. "running" until the end of the run is stored. It stays "running" if the process of the run was killed. */
  readonly status: "running" | LoopStatus;
  /** Why the run ended or is suspended. Undefined while the status is "running". */
  readonly reason?: EndReason | undefined;
  /** The usage of the run. Undefined while it is unknown. */
  readonly usage?: Usage | undefined;
  /** The cost of the run in USD. Undefined if it is unknown. */
  readonly costUSD?: number | undefined;
  /** The last summary of the run. Undefined if the run made no new summary. */
  readonly compaction?: CompactedMessages | undefined;
  /** The agent at the end of the run. Undefined without `policies.handoffs`. */
  readonly agent?: string | undefined;
  /** The last request of the run, as digests. Undefined if the run did not watch the prompt cache. */
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
  /** Aborted if another writer may have the lock now. The run then stops. Omit it if a lock cannot be lost. */
  readonly lost?: AbortSignal | undefined;
}
