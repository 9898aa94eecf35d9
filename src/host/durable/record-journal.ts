// Implements a durable run's journal. Its records are rows in the store, written together with the events before them.

import type { Journal } from "../../core/index.ts";
import type { StepRecord } from "./durable-store.ts";

/** The journal of one execution calls these functions around its steps. */
export interface StepHooks {
  /** The position of the last message that the run has read. The journal records this position, and restores it in a replay. */
  lastRead: number;
  /** Called before the outermost run checks for messages (a "look"). Passes new messages to the run, and changes `lastRead`. */
  beforeLook(): Promise<void>;
  /** Writes a record. Rejects if a newer execution of the run has begun. */
  record(record: StepRecord): Promise<void>;
}

/**
 * Matches the keys of steps in which the outermost run checks for messages (a "look"). Does not match those of nested runs, which read no
 * messages and must not record a position too early.
 */
const lookKeys = /^(?:begin|i\d+(?:~\d+)?\/(?:answered(?:~\d+)?|next|again))(?:#\d+)?$/;

/** Creates the journal of one execution, with the records of earlier executions. */
export function createRecordJournal(earlier: readonly StepRecord[], hooks: StepHooks): Journal {
  const records = new Map(earlier.map((record) => [record.key, record]));
  return {
    durable: true,
    engine: true,
    read: (key) => parse(records.get(key)),
    async step<T>(key: string, body: () => T | PromiseLike<T>): Promise<T> {
      let record = records.get(key);
      if (record === undefined) {
        const isLook = lookKeys.test(key);
        if (isLook) await hooks.beforeLook();
        record = { key, body: JSON.stringify(await body()), ...(isLook && { lastRead: hooks.lastRead }) };
        await hooks.record(record);
        records.set(key, record);
      } else hooks.lastRead = record.lastRead ?? hooks.lastRead;
      return parse(record) as T;
    },
  };
}

function parse(record: StepRecord | undefined): unknown {
  return record === undefined ? undefined : JSON.parse(record.body);
}

/** Returns a journal that contains a run's records and records nothing new. */
export function readRecordJournal(readRecords: () => Promise<readonly StepRecord[]>): Journal {
  let reading: Promise<ReadonlyMap<string, StepRecord>> | undefined;
  const readAll = (): Promise<ReadonlyMap<string, StepRecord>> =>
    (reading ??= readRecords().then((records) => new Map(records.map((record) => [record.key, record]))));
  return {
    durable: true,
    readOnly: true,
    read: async (key) => parse((await readAll()).get(key)),
    keys: async () => [...(await readAll()).keys()],
    step: () => Promise.reject(new Error("This journal is read-only.")),
  };
}
