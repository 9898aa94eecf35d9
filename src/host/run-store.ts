import { checkFields } from "../core/kit.ts";
import { type EndReason, type Journal, type LoopStatus, memoryJournal, type Message, type UserMessage } from "../core/index.ts";
import type { ConversationUsage, Handover, RunReport } from "./handover.ts";

/** One run of a conversation, with the position of its answer in the transcript. */
export interface ConversationTurn extends Pick<ConversationUsage, "usage" | "costUSD"> {
  readonly runId: string;
  /** The messages of the run: those from the position `from` up to, but not including, the position `to`. */
  readonly from: number;
  readonly to: number;
  readonly status: LoopStatus;
  readonly reason: EndReason;
}

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
  /** Identifies the events of the last run. Only the process of that run has these events, in its memory. */
  readonly epoch?: string | undefined;
  /** Messages that were steered to the last run but did not reach the model. The next run begins with them. */
  readonly undelivered?: readonly UserMessage[] | undefined;
  /**
   * All messages that the host accepted for steering the last run, in order. A resumed run gets the messages in this list that
   * are missing in its journal.
   */
  readonly steered?: readonly UserMessage[] | undefined;
  /** The position of the first message that leaves the conversation if an input check refuses the last run. */
  readonly own?: number | undefined;
  /** The usage, cost, summary and agent that the runs before the last run hand on. */
  readonly handover?: Handover | undefined;
  /** The usage, cost, summary and agent that the last run adds. Undefined while its status is "running". */
  readonly report?: RunReport | undefined;
  /** All ended runs whose answers are in the transcript, in order. */
  readonly turns?: readonly ConversationTurn[] | undefined;
  /** The runs whose journals may be removed, with the time of their end in milliseconds since 1970. */
  readonly journals?: readonly { readonly number: number; readonly endedAt: number }[] | undefined;
}

/** A conversation in the list of a store. */
export interface ListedConversation {
  readonly id: string;
  /** When the conversation was last written, in milliseconds since 1970. */
  readonly changedAt: number;
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
  /**
   * Deletes the journal of run `number`, which has ended. Has no effect if the journal does not exist. Default: journals are kept,
   * and the option `keepRuns` of the host has no effect.
   */
  removeJournal?(id: string, number: number): void | PromiseLike<void>;
  /**
   * Deletes everything that the store has of a conversation, first all journals and then the record. Has no effect if the conversation
   * does not exist. Default: `host.remove` rejects.
   */
  remove?(id: string): void | PromiseLike<void>;
  /** Lists all conversations, in any order. Default: `host.list` rejects. */
  list?(): AsyncIterable<ListedConversation> | Iterable<ListedConversation>;
}

/** The options of `memoryRunStore`. */
export interface MemoryRunStoreOptions {
  /**
   * The maximum number of conversations. If this limit is exceeded, the least recently written conversation is removed. Default
   * `Infinity`.
   */
  readonly maxConversations?: number | undefined;
}

interface Kept {
  record: ConversationRecord | undefined;
  changedAt: number;
  readonly journals: Map<number, Journal>;
}

/**
 * Creates a store in the memory of this process. Conversations are lost when the process ends. For each conversation, the store
 * keeps one record and the journal of the last run. Throws LoopError "invalid-option" or "unknown-option" if an option is
 * invalid.
 *
 * @example
 * const host = createRunHost({ store: memoryRunStore({ maxConversations: 10_000 }) });
 */
export function memoryRunStore(options: MemoryRunStoreOptions = {}): RunStore {
  checkFields("options", options, { maxConversations: { min: 1 } });
  const { maxConversations = Number.POSITIVE_INFINITY } = options;
  /** The conversations by id, sorted by their most recent call of `write` or `journal`, oldest first. */
  const conversations = new Map<string, Kept>();
  const open = (id: string): Kept => {
    const kept = conversations.get(id) ?? { record: undefined, changedAt: 0, journals: new Map() };
    conversations.delete(id);
    conversations.set(id, kept);
    const [oldest] = conversations.keys();
    if (conversations.size > maxConversations && oldest !== undefined) conversations.delete(oldest);
    return kept;
  };
  return {
    read: (id) => conversations.get(id)?.record,
    write: (id, record) => {
      const kept = open(id);
      kept.record = record;
      kept.changedAt = Date.now();
      // Only the last run of a conversation can be resumed, so the journals of earlier runs are deleted.
      for (const number of kept.journals.keys()) if (number < record.runs) kept.journals.delete(number);
    },
    journal: (id, number) => {
      const { journals } = open(id);
      const journal = journals.get(number) ?? memoryJournal();
      journals.set(number, journal);
      return journal;
    },
    removeJournal: (id, number) => void conversations.get(id)?.journals.delete(number),
    remove: (id) => void conversations.delete(id),
    list: () => [...conversations].flatMap(([id, { record, changedAt }]) => (record === undefined ? [] : [{ id, changedAt }])),
  };
}
