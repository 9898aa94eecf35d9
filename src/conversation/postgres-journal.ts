// Stores a run's journal in two Postgres tables. Only the execution that opened the journal last can add records.

import { type Journal, LoopError } from "../core/index.ts";
import { fromStoredKey, toStoredKey } from "../shared/postgres.ts";

export type Query = (text: string, values: readonly unknown[]) => Promise<readonly object[]>;

export const journalTables = `
  CREATE TABLE IF NOT EXISTS turnwright.chat_runs (id text PRIMARY KEY, holder text NOT NULL);
  CREATE TABLE IF NOT EXISTS turnwright.chat_records (
    run_id text NOT NULL, key text NOT NULL, position bigint GENERATED ALWAYS AS IDENTITY, body text NOT NULL,
    PRIMARY KEY (run_id, key))`;

const openRun = `
  INSERT INTO turnwright.chat_runs VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET holder = EXCLUDED.holder`;

const readRecords = "SELECT key, body FROM turnwright.chat_records WHERE run_id = $1 ORDER BY position";

/** Adds a record. Locks the run's row, so that no other execution can open the journal before the record is written. */
const addRecord = `
  WITH own AS MATERIALIZED (SELECT id FROM turnwright.chat_runs WHERE id = $1 AND holder = $2 FOR SHARE)
  INSERT INTO turnwright.chat_records (run_id, key, body) SELECT id, $3, $4 FROM own
  ON CONFLICT (run_id, key) DO UPDATE SET body = EXCLUDED.body RETURNING key`;

export const deleteRun = `
  WITH records AS (DELETE FROM turnwright.chat_records WHERE run_id = $1) DELETE FROM turnwright.chat_runs WHERE id = $1`;

export function postgresJournal(query: Query, runId: string): Journal {
  const holder = globalThis.crypto.randomUUID();
  let reading: Promise<Map<string, string>> | undefined;
  const readAll = (): Promise<Map<string, string>> =>
    (reading ??= query(readRecords, [runId]).then(
      (rows) =>
        new Map(
          (rows as readonly { readonly key: string; readonly body: string }[]).map(({ key, body }) => [fromStoredKey(key), body]),
        ),
    ));
  return {
    durable: true,
    open: async ({ readOnly = false } = {}) => {
      if (!readOnly) await query(openRun, [runId, holder]);
      // Forgets the records read so far, because another process may have added some since then.
      reading = undefined;
      return async () => {};
    },
    read: async (key) => parse((await readAll()).get(key)),
    keys: async () => [...(await readAll()).keys()],
    step: async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
      const records = await readAll();
      let text = records.get(key);
      if (text === undefined) {
        text = JSON.stringify(await body());
        const [added] = await query(addRecord, [runId, holder, toStoredKey(key), text]);
        if (added === undefined) throw new LoopError("journal-lost", { runId });
        records.set(key, text);
      }
      return parse(text) as T;
    },
  };
}

function parse(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}
