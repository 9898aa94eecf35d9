import { CancelScope, type Clock, Deadline, LoopError, promiseOrValue } from "../core/entry-kit.ts";
import type { RunStore } from "./run-store.ts";

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
    read: (id) => race("read", () => store.read(id), limits),
    write: (id, record) => race("write", () => store.write(id, record), limits),
    journal: (id, number) => store.journal(id, number),
  };
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
