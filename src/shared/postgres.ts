import { recordOf, textOf } from "./plain-error.ts";

/**
 * True if Postgres refused the data (SQLSTATE class 22), found a violated constraint (23), or refused the statement (42). Another
 * attempt would fail too.
 */
export function isRefusedByPostgres(error: unknown): boolean {
  return /^(22|23|42)[0-9A-Z]{3}$/.test(textOf(recordOf(error).code));
}

/** True if a failed query may succeed when it is repeated, for example after the database has restarted. */
export function mayRepeatQuery(pool: { readonly ending?: boolean }, error: unknown): boolean {
  return pool.ending !== true && !isRefusedByPostgres(error);
}

/**
 * Returns one statement that runs a migration, because some drivers refuse several statements in one query. The statement holds a lock
 * until it ends, because two processes that create the schema at the same time would both fail. Changes nothing if `isDone`, an SQL
 * condition, is true. Otherwise, even a repeated migration would need the right to create schemas, and would wait for locks on tables.
 */
export function toMigration(statements: string, isDone = "false"): string {
  return `DO $$ BEGIN
  IF ${isDone} THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(7233410001);
  CREATE SCHEMA IF NOT EXISTS turnwright;
  ${statements};
  END $$`;
}

/**
 * Escapes a journal key as in JSON, because Postgres refuses null characters and replaces lone surrogates. Models may write both into the
 * ids of calls (github.com/THU-MAIC/OpenMAIC/issues/1493).
 */
export function toStoredKey(key: string): string {
  return JSON.stringify(key).slice(1, -1);
}

export function fromStoredKey(stored: string): string {
  return JSON.parse(`"${stored}"`) as string;
}
