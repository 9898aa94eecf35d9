import { type Journal, numberWithin, checkFields } from "../core/entry-kit.ts";
import { memoryJournal } from "../core/index.ts";
import type { ConversationRecord, RunStore } from "./run-store.ts";

/** The options of `memoryRunStore`. */
export interface MemoryRunStoreOptions {
  /** The maximum number of conversations. If it is exceeded, the least recently written conversation is removed. Default `Infinity`. */
  readonly maxConversations?: number | undefined;
}

interface Kept {
  record: ConversationRecord | undefined;
  readonly journals: Map<number, Journal>;
}

/**
 * Creates a store in the memory of this process. Conversations are lost when the process ends. The store keeps one record for
 * each conversation, and the journal of its last run. Throws LoopError "invalid-option" or "unknown-option" if an option is
 * invalid.
 *
 * @example
 * const host = createRunHost({ store: memoryRunStore({ maxConversations: 10_000 }) });
 */
export function memoryRunStore(options: MemoryRunStoreOptions = {}): RunStore {
  checkFields("options", options, { maxConversations: numberWithin({ min: 1 }) });
  const { maxConversations = Number.POSITIVE_INFINITY } = options;
  /** The conversations by id, sorted by the time of their last write, oldest first. */
  const conversations = new Map<string, Kept>();
  const open = (id: string): Kept => {
    const kept = conversations.get(id) ?? { record: undefined, journals: new Map() };
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
      // Only the last run of a conversation can be resumed, so the journals of earlier runs are deleted.
      for (const number of kept.journals.keys()) if (number < record.runs) kept.journals.delete(number);
    },
    journal: (id, number) => {
      const { journals } = open(id);
      const journal = journals.get(number) ?? memoryJournal();
      journals.set(number, journal);
      return journal;
    },
  };
}
