// Limits how long a run store may take.

import { CancelScope, invalidOption, recordOf } from "../core/kit.ts";
import { type Clock, LoopError } from "../core/index.ts";
import { Deadline } from "../shared/cancellation/deadline.ts";
import { promiseOrValue } from "../shared/promises.ts";
import type { ConversationRecord, RunStore } from "./run-store.ts";

export interface StoreLimits {
  readonly storeMs: number;
  readonly clock: Clock;
}

/** A store whose methods reject with LoopError "store-unresponsive" if they take longer than `storeMs`. */
export interface BoundStore extends RunStore {
  /**
   * Locks the journal of a run, and returns the function that unlocks it. Rejects with "journal-locked" if another process has the
   * journal open. Has no effect for a journal without `open`.
   */
  lock(id: string, number: number): Promise<Unlock>;
  /** Calls a function that closes a journal. */
  close(close: Unlock): Promise<void>;
}

export type Unlock = () => PromiseLike<void>;

const noUnlock: Unlock = () => Promise.resolve();

/**
 * Limits how long the methods of a store may take. The later result of a call that took too long is ignored. During a run, its journal
 * has its own time limit, `timeouts.journalMs`.
 */
export function boundStore(store: RunStore, limits: StoreLimits): BoundStore {
  return {
    read: async (id) => checkRecord(await race("read", () => store.read(id), limits)),
    write: (id, record) => race("write", () => store.write(id, record), limits),
    journal: (id, number) => store.journal(id, number),
    lock: async (id, number) => (await race("journal", () => openLate(store, id, number), limits)) ?? noUnlock,
    close: (close) => race("journal", close, limits),
    ...(store.removeJournal && {
      removeJournal: (id, number) => race("removeJournal", () => store.removeJournal?.(id, number), limits),
    }),
    ...(store.remove && { remove: (id) => race("remove", () => store.remove?.(id), limits) }),
    ...(store.list && { list: () => store.list?.() ?? [] }),
  };
}

function openLate(store: RunStore, id: string, number: number): PromiseLike<Unlock> | undefined {
  return store.journal(id, number).open?.();
}

function checkRecord(record: unknown): ConversationRecord | undefined {
  if (record === undefined) return undefined;
  const { runs, status, messages } = recordOf(record);
  if (typeof runs === "number" && typeof status === "string" && Array.isArray(messages)) return record as ConversationRecord;
  throw invalidOption("store.read(id)", "a ConversationRecord, or undefined if the conversation does not exist", record);
}

async function race<T>(
  verb: "read" | "write" | "remove" | "removeJournal" | "journal",
  call: () => T | PromiseLike<T>,
  { storeMs, clock }: StoreLimits,
): Promise<T> {
  // A deadline needs a scope. A call of the store cannot be cancelled, so nothing cancels this scope.
  const deadline = new Deadline({ limitMs: storeMs }, { clock, scope: new CancelScope() });
  const answer = promiseOrValue(call());
  if (!(answer instanceof Promise)) return answer;
  const raced = await deadline.race(answer);
  if (raced.kind === "value") return raced.value;
  throw raced.kind === "thrown" ? raced.error : new LoopError("store-unresponsive", { verb, ms: storeMs });
}
