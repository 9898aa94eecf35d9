import { checkFields } from "../core/kit.ts";
import type { Message } from "../core/index.ts";
import { busy, checkId } from "./check-id.ts";
import { listJournals } from "./conversation-state.ts";
import { MemoryJournals } from "./memory-journals.ts";
import type {
  BuiltInConversationStore,
  ConversationChange,
  ConversationState,
  StoredConversation,
} from "./conversation-store.ts";

/** The options for `memoryConversationStore`. */
export interface MemoryConversationStoreOptions {
  /** The maximum number of conversations. Beyond this number, the least recently changed conversation is removed. Default `Infinity`. */
  readonly maxConversations?: number | undefined;
}

interface Kept {
  readonly messages: Message[];
  state: ConversationState;
  changedAt: number;
}

/**
 * Creates a store in this process's memory. Conversations are lost when the process ends. Throws LoopError "invalid-option"
 * or "unknown-option" if an option is invalid.
 *
 * @example
 * const store = memoryConversationStore({ maxConversations: 10_000 });
 */
export function memoryConversationStore(options: MemoryConversationStoreOptions = {}): BuiltInConversationStore {
  checkFields("options", options, { maxConversations: { min: 1 } });
  const { maxConversations = Number.POSITIVE_INFINITY } = options;
  /** The conversations by id, the least recently changed first. */
  const kept = new Map<string, Kept>();
  const locks = new Map<string, symbol>();
  const journals = new MemoryJournals();

  const load = (id: string): StoredConversation | undefined => {
    checkId(id);
    const found = kept.get(id);
    return found === undefined ? undefined : { messages: [...found.messages], state: found.state };
  };
  const append = (id: string, { from, messages, state }: ConversationChange): void => {
    const found = kept.get(id) ?? { messages: [], state, changedAt: 0 };
    found.messages.length = from;
    for (const message of messages) found.messages.push(message);
    found.state = state;
    found.changedAt = Date.now();
    kept.delete(id);
    kept.set(id, found);
    for (const [oldest, { state: last }] of kept) {
      if (kept.size <= maxConversations) return;
      if (locks.has(oldest)) continue;
      kept.delete(oldest);
      for (const { runId } of listJournals(last)) journals.remove(runId);
    }
  };
  return {
    load,
    lock: async (id) => {
      const stored = load(id);
      if (locks.has(id)) throw busy(id);
      const own = Symbol(id);
      locks.set(id, own);
      return {
        stored,
        append: async (change) => {
          if (locks.get(id) !== own) throw busy(id);
          append(id, change);
        },
        release: () => {
          if (locks.get(id) === own) locks.delete(id);
        },
      };
    },
    isLocked: (id) => {
      checkId(id);
      return locks.has(id);
    },
    list: () => [...kept].map(([id, { changedAt }]) => ({ id, changedAt })),
    remove: async (id) => {
      checkId(id);
      if (locks.has(id)) throw busy(id);
      kept.delete(id);
    },
    journal: journals.open,
    removeJournal: journals.remove,
  };
}
