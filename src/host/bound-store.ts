import { CancelScope, type Clock, Deadline, invalidOption, LoopError, promiseOrValue, recordOf } from "../core/entry-kit.ts";
import type { ConversationRecord, RunStore } from "./run-store.ts";

interface StoreLimits {
  readonly storeMs: number;
  readonly clock: Clock;
}

/**
 * Limits how long a store may take to read or write. A call that takes longer rejects with LoopError "store-unresponsive", and the
 * late value is dropped. Journals are not limited here, because `timeouts.journalMs` limits them.
 */
export function boundStore(store: RunStore, limits: StoreLimits): RunStore {
  return {
    read: async (id) => checkRecord(await race("read", () => store.read(id), limits)),
    write: (id, record) => race("write", () => store.write(id, record), limits),
    journal: (id, number) => store.journal(id, number),
  };
}

/** Throws LoopError "invalid-option" if a store returned neither a record nor undefined. */
function checkRecord(record: unknown): ConversationRecord | undefined {
  if (record === undefined) return undefined;
  const { runs, status, messages } = recordOf(record);
  if (typeof runs === "number" && typeof status === "string" && Array.isArray(messages)) return record as ConversationRecord;
  throw invalidOption("store.read(id)", "a ConversationRecord, or undefined if the conversation does not exist", record);
}

async function race<T>(verb: "read" | "write", call: () => T | PromiseLike<T>, { storeMs, clock }: StoreLimits): Promise<T> {
  // Nothing cancels a call of the store; only its time is limited.
  const deadline = new Deadline({ limitMs: storeMs }, { clock, scope: new CancelScope() });
  const answer = promiseOrValue(call());
  if (!(answer instanceof Promise)) return answer;
  const raced = await deadline.race(answer);
  if (raced.kind === "value") return raced.value;
  throw raced.kind === "thrown" ? raced.error : new LoopError("store-unresponsive", { verb, ms: storeMs });
}
