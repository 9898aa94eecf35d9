// Adds a time limit to calls to a conversation store.

import { CancelScope, invalidOption, recordOf } from "../core/kit.ts";
import { type Clock, type Journal, LoopError } from "../core/index.ts";
import { MemoryJournals } from "../conversation/memory-journals.ts";
import { Deadline } from "../shared/cancellation/deadline.ts";
import { promiseOrValue } from "../shared/promises.ts";
import type { ConversationLock, ConversationStore, StoredConversation } from "../conversation/conversation-store.ts";

export interface StoreLimits {
  readonly storeMs: number;
  readonly clock: Clock;
}

/** A store with journals. Its methods reject with LoopError "store-unresponsive" if they take longer than `storeMs`. */
export interface BoundStore extends Pick<ConversationStore, "list"> {
  load(id: string): Promise<StoredConversation | undefined>;
  lock(id: string): Promise<BoundLock>;
  remove(id: string): Promise<void>;
  journal(runId: string): Journal;
  /** Removes a run's journal. Undefined if the store cannot remove journals. */
  readonly removeJournal: ((runId: string) => Promise<void>) | undefined;
}

export interface BoundLock extends ConversationLock {
  append(...change: Parameters<ConversationLock["append"]>): Promise<void>;
  /** Releases the lock. Can be called more than once. Never rejects, because the error must not replace the result of a run. */
  release(): Promise<void>;
}

/**
 * Limits how long a store's methods may take. If a call takes too long, its late result is ignored. During a run, the journal has a
 * separate time limit, `timeouts.journalMs`.
 */
export function boundStore(store: ConversationStore, limits: StoreLimits): BoundStore {
  const journals = store.journal === undefined ? new MemoryJournals() : undefined;
  const removeJournal = journals === undefined ? store.removeJournal?.bind(store) : journals.remove;
  return {
    load: async (id) => checkStored("load(id)", await race("load", () => store.load(id), limits)),
    lock: (id) => lock(store, id, limits),
    remove: (id) => race("remove", () => store.remove(id), limits),
    journal: (runId) => journals?.open(runId) ?? (store.journal?.(runId) as Journal),
    removeJournal: removeJournal && ((runId) => race("removeJournal", () => removeJournal(runId), limits)),
    ...(store.list && { list: () => store.list?.() ?? [] }),
  };
}

async function lock(store: ConversationStore, id: string, limits: StoreLimits): Promise<BoundLock> {
  const locking = (async () => store.lock(id))();
  const unlock = async (): Promise<void> => (await locking).release();
  try {
    const held = await race("lock", () => locking, limits);
    const stored = checkStored("lock(id).stored", held.stored);
    let released: Promise<void> | undefined;
    return {
      stored,
      lost: held.lost,
      append: (change) => race("append", () => held.append(change), limits),
      release: () => (released ??= race("release", () => held.release(), limits).catch(() => {})),
    };
  } catch (error) {
    // The lock may still be acquired after the time limit, in which case it is released.
    void unlock().catch(() => {});
    throw error;
  }
}

function checkStored(option: string, stored: unknown): StoredConversation | undefined {
  if (stored === undefined) return undefined;
  const { messages, state } = recordOf(stored);
  if (Array.isArray(messages) && typeof recordOf(state).runs === "number") return stored as StoredConversation;
  throw invalidOption(`store.${option}`, "a StoredConversation, or undefined if the conversation does not exist", stored);
}

type Verb = LoopError<"store-unresponsive">["details"]["verb"];

async function race<T>(verb: Verb, call: () => T | PromiseLike<T>, { storeMs, clock }: StoreLimits): Promise<T> {
  // A deadline needs a scope, but this one is never cancelled, because calls to a store cannot be cancelled.
  const deadline = new Deadline({ limitMs: storeMs }, { clock, scope: new CancelScope() });
  const answer = promiseOrValue(call());
  if (!(answer instanceof Promise)) return answer;
  const raced = await deadline.race(answer);
  if (raced.kind === "value") return raced.value;
  throw raced.kind === "thrown" ? raced.error : new LoopError("store-unresponsive", { verb, ms: storeMs });
}
