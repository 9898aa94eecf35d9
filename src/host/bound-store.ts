import { CancelScope, type Clock, Deadline, invalidOption, LoopError, promiseOrValue, recordOf } from "../core/entry-kit.ts";
import type { ConversationRecord, RunStore } from "./run-store.ts";

interface StoreLimits {
  readonly storeMs: number;
  readonly clock: Clock;
}

/**
 * Limits how long the methods `read` and `write` of a store may take. A call that takes longer rejects with LoopError
 * "store-unresponsive", and its later result is ignored. The journals of the store have their own time limit,
 * `timeouts.journalMs`.
 */
export function boundStore(store: RunStore, limits: StoreLimits): RunStore {
  return {
    read: async (id) => checkRecord(await race("read", () => store.read(id), limits)),
    write: (id, record) => race("write", () => store.write(id, record), limits),
    journal: (id, number) => store.journal(id, number),
  };
}

/** Throws LoopError "invalid-option" if `store.read` returned neither a record nor undefined. */
function checkRecord(record: unknown): ConversationRecord | undefined {
  if (record === undefined) return undefined;
  const { runs, status, messages } = recordOf(record);
  if (typeof runs === "number" && typeof status === "string" && Array.isArray(messages)) return record as ConversationRecord;
  throw invalidOption("store.read(id)", "a ConversationRecord, or undefined if the conversation does not exist", record);
}

async function race<T>(verb: "read" | "write", call: () => T | PromiseLike<T>, { storeMs, clock }: StoreLimits): Promise<T> {
  // A call of the store has a time limit but cannot be cancelled, so this scope is never cancelled.
  const deadline = new Deadline({ limitMs: storeMs }, { clock, scope: new CancelScope() });
  const answer = promiseOrValue(call());
  if (!(answer instanceof Promise)) return answer;
  const raced = await deadline.race(answer);
  if (raced.kind === "value") return raced.value;
  throw raced.kind === "thrown" ? raced.error : new LoopError("store-unresponsive", { verb, ms: storeMs });
}
