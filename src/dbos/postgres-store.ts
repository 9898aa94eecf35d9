// Creates and reads the Postgres tables that durable loops add to those of DBOS: workers, and the records, events and messages of runs.

import type { Pool } from "pg";
import { repeatFailed } from "../shared/repeat-failed.ts";
import { fromStoredKey, mayRepeatQuery, toMigration, toStoredKey } from "../shared/postgres.ts";
import { whileLocked } from "./locks.ts";
import {
  type Added,
  type Begun,
  type DurableStore,
  NotOwner,
  type Row,
  type RunMessage,
  type StepRecord,
} from "../host/durable/durable-store.ts";

/** The version of the tables. A turnwright version that changes the tables must increase this number and convert existing tables. */
const schemaVersion = 2;

const tables = toMigration(`
  CREATE TABLE IF NOT EXISTS turnwright.schema (id boolean PRIMARY KEY CHECK (id), version integer NOT NULL);
  INSERT INTO turnwright.schema VALUES (true, ${schemaVersion}) ON CONFLICT DO NOTHING;
  CREATE TABLE IF NOT EXISTS turnwright.workers (id text PRIMARY KEY, application text NOT NULL, lease_ms double precision NOT NULL, beat timestamptz NOT NULL);
  CREATE SEQUENCE IF NOT EXISTS turnwright.executions;
  CREATE TABLE IF NOT EXISTS turnwright.runs (
    id text PRIMARY KEY, execution bigint NOT NULL, next_event bigint NOT NULL, stalls integer NOT NULL);
  ALTER TABLE turnwright.runs ADD COLUMN IF NOT EXISTS worker text, ADD COLUMN IF NOT EXISTS claim bigint;
  CREATE TABLE IF NOT EXISTS turnwright.events (
    run_id text NOT NULL, seq bigint NOT NULL, body text NOT NULL, PRIMARY KEY (run_id, seq));
  CREATE TABLE IF NOT EXISTS turnwright.records (
    run_id text NOT NULL, key text NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, body text NOT NULL, last_read bigint,
    PRIMARY KEY (run_id, key));
  CREATE TABLE IF NOT EXISTS turnwright.blobs (run_id text NOT NULL, id text NOT NULL, body text NOT NULL, PRIMARY KEY (run_id, id));
  CREATE TABLE IF NOT EXISTS turnwright.conversations (id text PRIMARY KEY, runs integer NOT NULL);
  CREATE TABLE IF NOT EXISTS turnwright.messages (
    run_id text NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, body text NOT NULL, PRIMARY KEY (run_id, seq));
  UPDATE turnwright.schema SET version = ${schemaVersion} WHERE version < ${schemaVersion}`);

/** The channels for LISTEN and NOTIFY. The payload is the id of a run that has new events or messages, or that has ended. */
export const eventChannel = "turnwright_events";
export const messageChannel = "turnwright_messages";
export const endChannel = "turnwright_ends";

/**
 * Begins an execution. Returns no row if DBOS has given the run to another worker, or if a newer execution of this worker has begun. The
 * statement may arrive late, for example because the worker froze, so it checks the owner itself, and locks the owner's row. If it arrives
 * twice, the second time changes nothing. Execution numbers are unique in the database, so that an execution of a deleted run cannot write
 * to a new run with the same id.
 */
const begin = `
  WITH owned AS MATERIALIZED (
    SELECT workflow_uuid FROM dbos.workflow_status
    WHERE workflow_uuid = $1 AND status = 'PENDING' AND executor_id = $2 FOR SHARE)
  INSERT INTO turnwright.runs AS run (id, execution, next_event, stalls, worker, claim)
  SELECT workflow_uuid, nextval('turnwright.executions'), 0, 0, $2::text, $3::bigint FROM owned
  ON CONFLICT (id) DO UPDATE SET worker = EXCLUDED.worker, claim = EXCLUDED.claim,
    execution = CASE WHEN (run.worker, run.claim) = (EXCLUDED.worker, EXCLUDED.claim) THEN run.execution ELSE EXCLUDED.execution END,
    stalls = CASE WHEN (run.worker, run.claim) = (EXCLUDED.worker, EXCLUDED.claim) THEN run.stalls ELSE run.stalls + 1 END
    WHERE run.worker IS DISTINCT FROM EXCLUDED.worker OR run.claim <= EXCLUDED.claim
  RETURNING execution, next_event AS events, stalls`;

const append = `
  WITH own AS (
    UPDATE turnwright.runs SET next_event = next_event + $4, stalls = CASE WHEN $8 THEN 0 ELSE stalls END
    WHERE id = $1 AND execution = $2 AND next_event = $3 RETURNING id),
  added AS (
    INSERT INTO turnwright.events SELECT $1, $3 + n - 1, body FROM own, unnest($5::text[]) WITH ORDINALITY AS t (body, n)),
  large AS (
    INSERT INTO turnwright.blobs SELECT $1, t.id, body FROM own, unnest($6::text[], $7::text[]) AS t (id, body) ON CONFLICT DO NOTHING),
  recorded AS (
    INSERT INTO turnwright.records (run_id, key, body, last_read)
    SELECT $1, key, body, last_read
    FROM own, unnest($9::text[], $10::text[], $11::bigint[]) WITH ORDINALITY AS t (key, body, last_read, n) ORDER BY n
    ON CONFLICT DO NOTHING)
  SELECT CASE WHEN $4 > 0 THEN pg_notify('${eventChannel}', $1)::text END FROM own`;

/**
 * Sends messages to a run. Takes a lock, so that a run's messages become visible in the order of their positions. Otherwise, a reader would
 * skip a message that becomes visible after one with a higher position.
 */
const send = `
  WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended($1, 1))),
  sent AS (
    INSERT INTO turnwright.messages (run_id, body)
    SELECT $1, body FROM held, unnest($2::text[]) WITH ORDINALITY AS t (body, n) ORDER BY n RETURNING run_id)
  SELECT pg_notify('${messageChannel}', run_id) FROM sent LIMIT 1`;

const deleteRuns = `
  WITH events AS (DELETE FROM turnwright.events WHERE run_id = ANY ($1)),
  records AS (DELETE FROM turnwright.records WHERE run_id = ANY ($1)),
  messages AS (DELETE FROM turnwright.messages WHERE run_id = ANY ($1)),
  blobs AS (DELETE FROM turnwright.blobs WHERE run_id = ANY ($1))
  DELETE FROM turnwright.runs WHERE id = ANY ($1)`;

export class PostgresStore implements DurableStore {
  readonly #pool: Pool;
  /**
   * The pool for writing events and records. It is separate, so that other queries are not held up while these writes wait for a lock
   * in the database.
   */
  readonly #writes: Pool;
  readonly #workerId: string;
  /** Settles when the most recent call to `changeRuns` in this process has finished. */
  #changed: Promise<unknown> = Promise.resolve();

  constructor(pool: Pool, workerId: string, writes: Pool = pool) {
    this.#pool = pool;
    this.#writes = writes;
    this.#workerId = workerId;
  }

  /** Retries a failed read, for example while Postgres restarts. Otherwise, a failed read would end the run or the reader. */
  #read<T extends object>(text: string, values: readonly unknown[]): Promise<readonly T[]> {
    return repeatFailed(async () => (await this.#pool.query<T>(text, [...values])).rows, {
      everyMs: 250,
      forMs: 60_000,
      mayRepeat: (error) => this.mayRepeat(error),
    });
  }

  mayRepeat(error: unknown): boolean {
    return mayRepeatQuery(this.#pool, error);
  }

  /** Creates or converts the tables. Only one process at a time may call this method. */
  async migrate(): Promise<void> {
    const { rows: found } = await this.#pool.query<{ readonly name: string | null }>(
      "SELECT to_regclass('turnwright.schema') AS name",
    );
    const read = async (): Promise<number> => {
      const { rows } = await this.#pool.query<{ readonly version: number }>("SELECT version FROM turnwright.schema");
      return rows[0]?.version ?? 0;
    };
    const version = typeof found[0]?.name !== "string" ? 0 : await read();
    // Skips the query if the tables are up to date, because another process may hold a lock on them. Postgres runs all of the query's
    // statements in one transaction.
    if (version < schemaVersion) await this.#pool.query(tables);
    if (version > schemaVersion)
      throw new Error(
        `The tables in the schema "turnwright" are at version ${version}, but this process uses a release of turnwright that supports version ${schemaVersion}. Update the package.`,
      );
  }

  async begin(runId: string, claim: number): Promise<Begun> {
    const [row] = await this.#read<{ readonly execution: string; readonly events: string; readonly stalls: number }>(begin, [
      runId,
      this.#workerId,
      claim,
    ]);
    if (row === undefined) throw new NotOwner(`Another execution of the run "${runId}" has begun, so this one stops.`);
    return { execution: Number(row.execution), events: Number(row.events), stalls: row.stalls };
  }

  /**
   * Stores events and records. Callers repeat the call if its response was lost. The `first` position ensures that each event is still
   * stored only once.
   */
  async append(runId: string, execution: number, { first, events, records, blobs, isProgress }: Added): Promise<boolean> {
    const { rowCount } = await this.#writes.query({
      name: "turnwright-append",
      text: append,
      values: [
        runId,
        execution,
        first,
        events.length,
        events,
        [...blobs.keys()],
        [...blobs.values()],
        isProgress,
        records.map(({ key }) => toStoredKey(key)),
        records.map(({ body }) => body),
        records.map(({ lastRead }) => lastRead ?? null),
      ],
    });
    if (rowCount === 1) return true;
    const [row] = await this.#read<{ readonly execution: string }>("SELECT execution FROM turnwright.runs WHERE id = $1", [
      runId,
    ]);
    return Number(row?.execution) === execution;
  }

  /** Returns the records in the order in which they were written. */
  async readRecords(runId: string): Promise<readonly StepRecord[]> {
    const rows = await this.#read<{ readonly key: string; readonly body: string; readonly last_read: string | null }>(
      "SELECT key, body, last_read FROM turnwright.records WHERE run_id = $1 ORDER BY seq",
      [runId],
    );
    return rows.map(({ key, body, last_read: lastRead }) => ({
      key: fromStoredKey(key),
      body,
      ...(lastRead !== null && { lastRead: Number(lastRead) }),
    }));
  }

  async readBlobs(runId: string, ids?: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const rows = await this.#read<{ readonly id: string; readonly body: string }>(
      "SELECT id, body FROM turnwright.blobs WHERE run_id = $1 AND ($2::text[] IS NULL OR id = ANY ($2))",
      [runId, ids],
    );
    return new Map(rows.map(({ id, body }) => [id, body]));
  }

  async countEvents(runId: string): Promise<number> {
    const [row] = await this.#read<{ readonly count: string }>("SELECT next_event AS count FROM turnwright.runs WHERE id = $1", [
      runId,
    ]);
    return Number(row?.count ?? 0);
  }

  /** Returns at most 500 events, starting at the `from` position. */
  async readEvents(runId: string, from: number): Promise<readonly Row<string>[]> {
    const rows = await this.#read<{ readonly seq: string; readonly body: string }>(
      "SELECT seq, body FROM turnwright.events WHERE run_id = $1 AND seq >= $2 ORDER BY seq LIMIT 500",
      [runId, from],
    );
    return rows.map(({ seq, body }) => ({ seq: Number(seq), body }));
  }

  async send(runId: string, ...messages: readonly RunMessage[]): Promise<void> {
    await this.#pool.query(send, [runId, messages.map((message) => JSON.stringify(message))]);
  }

  async notifyEnds(runIds: readonly string[]): Promise<void> {
    await this.#pool.query(`SELECT pg_notify('${endChannel}', id) FROM unnest($1::text[]) AS t (id)`, [runIds]);
  }

  async wake(runId: string): Promise<void> {
    await this.#pool.query(`SELECT pg_notify('${eventChannel}', $1)`, [runId]);
  }

  async resetStalls(runId: string): Promise<void> {
    await this.#pool.query("UPDATE turnwright.runs SET stalls = 0 WHERE id = $1", [runId]);
  }

  /** Deletes all data about runs. Keeps the count of each conversation's runs, so that no run id is used twice. */
  async deleteRuns(ids: readonly string[]): Promise<void> {
    await this.#pool.query(deleteRuns, [ids]);
  }

  /** Calls `work` while no other worker is deleting or retrying runs. */
  changeRuns<T>(work: () => Promise<T>): Promise<T> {
    // Runs one change at a time, because waiting changes would hold the connections that `work` needs.
    const changed = this.#changed.then(() => whileLocked(this.#pool, "changes of runs", work));
    this.#changed = changed.catch(() => {});
    return changed;
  }

  async readRuns(conversation: string): Promise<number> {
    const [row] = await this.#read<{ readonly runs: number }>("SELECT runs FROM turnwright.conversations WHERE id = $1", [
      conversation,
    ]);
    return row?.runs ?? 0;
  }

  async noteRuns(conversation: string, runs: number): Promise<void> {
    await this.#pool.query(
      `INSERT INTO turnwright.conversations VALUES ($1, $2)
       ON CONFLICT (id) DO UPDATE SET runs = greatest(turnwright.conversations.runs, EXCLUDED.runs)`,
      [conversation, runs],
    );
  }

  async readMessages(runId: string, after: number): Promise<readonly Row<RunMessage>[]> {
    const rows = await this.#read<{ readonly seq: string; readonly body: string }>(
      "SELECT seq, body FROM turnwright.messages WHERE run_id = $1 AND seq > $2 ORDER BY seq",
      [runId, after],
    );
    return rows.map(({ seq, body }) => ({ seq: Number(seq), body: JSON.parse(body) as RunMessage }));
  }
}
