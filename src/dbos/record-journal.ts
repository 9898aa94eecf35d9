// The journal of a durable loop. One statement writes a record to a table, together with the events before it.

import type { Journal, Step } from "../core/entry-kit.ts";
import type { StepHooks } from "../host/durable/durable-store.ts";
import { createReadOnlyJournal } from "../host/durable/read-only-journal.ts";
import type { PostgresStore } from "./postgres-store.ts";

/** Makes the journal of one execution of a run. Reads the records of earlier executions. */
export async function createRecordJournal(store: PostgresStore, runId: string, hooks: StepHooks): Promise<Journal> {
  const recorded = new Map((await hooks.repeat(() => store.readRecords(runId))).map((record) => [record.key, record]));
  const keys = new Set(recorded.keys());
  const step = async <T>({ key, kind, run }: Step<T>): Promise<T> => {
    const known = recorded.get(key);
    if (known !== undefined) {
      hooks.lastRead = known.lastRead ?? hooks.lastRead;
      return JSON.parse(known.body) as T;
    }
    if (kind === "inbox") await hooks.beforeInbox();
    const body = JSON.stringify(await run({}));
    await hooks.record(kind === "inbox" ? { key, body, lastRead: hooks.lastRead } : { key, body });
    keys.add(key);
    return JSON.parse(body) as T;
  };
  return {
    durable: true,
    step,
    all: (steps) => Promise.all(steps.map(step)),
    has: (key) => keys.has(key),
    // A wait needs no record, because the first decision with the key counts in every execution.
    wait: (key) => hooks.receive(key),
  };
}

/** Returns a journal that only reads the records of a run, for `inspectJournal`. */
export function readRecordJournal(store: PostgresStore, runId: string): Journal {
  return createReadOnlyJournal(async () => {
    const records = await store.readRecords(runId);
    return new Map(records.map(({ key, body }) => [key, JSON.parse(body) as unknown]));
  });
}
