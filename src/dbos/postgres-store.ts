// The tables of durable loops in Postgres, in addition to the tables of DBOS: workers, and the records, events and messages of
// runs.

import type { Pool } from "pg";
import { repeatFailed } from "../host/durable/repeat-failed.ts";
import { whileLocked } from "./locks.ts";
import type { Added, Begun, DurableStore, Row, RunMessage, StepRecord } from "../host/durable/durable-store.ts";

/**
 * The key of the lock that a process holds while it creates the tables. Without this lock, two processes could create the tables
 * at the same time.
 */
const migrationLock = 7_233_410_001;

/**
 * The version of the tables. A version of turnwright that changes the tables must increase this number, and must convert existing
 * tables.
 */
const schemaVersion = 1;

const tables = `
  CREATE SCHEMA IF NOT EXISTS turnwright;
  CREATE TABLE IF NOT EXISTS turnwright.schema (id boolean PRIMARY KEY CHECK (id), version integer NOT NULL);
  INSERT INTO turnwright.schema VALUES (true, ${schemaVersion}) ON CONFLICT DO NOTHING;
  CREATE TABLE IF NOT EXISTS turnwright.workers (id text PRIMARY KEY, application text NOT NULL, lease_ms double precision NOT NULL, beat timestamptz NOT NULL);
  CREATE SEQUENCE IF NOT EXISTS turnwright.executions;
  CREATE TABLE IF NOT EXISTS turnwright.runs (
    id text PRIMARY KEY, execution bigint NOT NULL, next_event bigint NOT NULL, stalls integer NOT NULL);
  CREATE TABLE IF NOT EXISTS turnwright.events (
    run_id text NOT NULL, seq bigint NOT NULL, body text NOT NULL, PRIMARY KEY (run_id, seq));
  CREATE TABLE IF NOT EXISTS turnwright.records (
    run_id text NOT NULL, key text NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, body text NOT NULL, last_read bigint,
    PRIMARY KEY (run_id, key));
  CREATE TABLE IF NOT EXISTS turnwright.blobs (run_id text NOT NULL, id text NOT NULL, body text NOT NULL, PRIMARY KEY (run_id, id));
  CREATE TABLE IF NOT EXISTS turnwright.conversations (id text PRIMARY KEY, runs integer NOT NULL);
  CREATE TABLE IF NOT EXISTS turnwright.messages (
    run_id text NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, body text NOT NULL, PRIMARY KEY (run_id, seq));
`;

/** A read that fails, for example while Postgres restarts, is repeated for about a minute. */
const repeatForMs = 60_000;
const repeatAfterMs = 250;

/** The channels of LISTEN and NOTIFY. The payload is the id of a run with new events or messages, or of a run that has ended. */
export const eventChannel = "turnwright_events";
export const messageChannel = "turnwright_messages";
export const endChannel = "turnwright_ends";

/**
 * True if Postgres has refused the data (SQLSTATE class 22), found a violated constraint (23), or refused the statement (42). A
 * repetition would be refused too.
 */
function isRefusal(error: unknown): boolean {
  return error instanceof Error && "code" in error && /^(22|23|42)/.test(String(error.code)) && String(error.code).length === 5;
}

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
 * Because of the lock, the messages of a run become visible in the order of their positions. Otherwise, a reader would skip a
 * message that becomes visible after a message with a higher position.
 */
const send = `
  WITH held AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtextextended($1, 1))),
  sent AS (INSERT INTO turnwright.messages (run_id, body) SELECT $1, $2 FROM held RETURNING run_id)
  SELECT pg_notify('${messageChannel}', run_id) FROM sent`;

const deleteRuns = `
  WITH events AS (DELETE FROM turnwright.events WHERE run_id = ANY ($1)),
  records AS (DELETE FROM turnwright.records WHERE run_id = ANY ($1)),
  messages AS (DELETE FROM turnwright.messages WHERE run_id = ANY ($1)),
  blobs AS (DELETE FROM turnwright.blobs WHERE run_id = ANY ($1))
  DELETE FROM turnwright.runs WHERE id = ANY ($1)`;

export class PostgresStore implements DurableStore {
  readonly #pool: Pool;
  /** Settles after the most recent call of `changeRuns` in this process. */
  #changed: Promise<unknown> = Promise.resolve();

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  /** Repeats a read that fails, for example while Postgres restarts. Otherwise, a failed read would end the run or the reader. */
  #read<T extends object>(text: string, values: readonly unknown[]): Promise<readonly T[]> {
    const until = performance.now() + repeatForMs;
    return repeatFailed(async () => (await this.#pool.query<T>(text, [...values])).rows, {
      everyMs: repeatAfterMs,
      mayRepeat: (error) => performance.now() < until && this.mayRepeat(error),
    });
  }

  mayRepeat(error: unknown): boolean {
    return !this.#pool.ending && !isRefusal(error);
  }

  async migrate(): Promise<void> {
    // Postgres runs several statements without values as one transaction.
    await this.#pool.query(`SELECT pg_advisory_xact_lock(${migrationLock}); ${tables}`);
    const { rows } = await this.#pool.query<{ readonly version: number }>("SELECT version FROM turnwright.schema");
    const version = rows[0]?.version ?? schemaVersion;
    if (version > schemaVersion)
      throw new Error(
        `The tables in the schema "turnwright" have version ${version}, but this version of turnwright knows version ${schemaVersion}. Update turnwright in this process.`,
      );
  }

  async begin(runId: string): Promise<Begun> {
    // Execution numbers are unique in the database, so that an execution of a deleted run cannot write to a new run with the same
    // id.
    const [row] = await this.#read<{ readonly execution: string; readonly events: string; readonly stalls: number }>(
      `INSERT INTO turnwright.runs VALUES ($1, nextval('turnwright.executions'), 0, 0)
       ON CONFLICT (id) DO UPDATE SET execution = EXCLUDED.execution, stalls = turnwright.runs.stalls + 1
       RETURNING execution, next_event AS events, stalls`,
      [runId],
    );
    return { execution: Number(row?.execution ?? 0), events: Number(row?.events ?? 0), stalls: row?.stalls ?? 0 };
  }

  /**
   * If the answer to a call is lost, the caller repeats the call. Because of the position `first`, the events are stored only
   * once.
   */
  async append(runId: string, execution: number, { first, events, records, blobs, isProgress }: Added): Promise<boolean> {
    const { rowCount } = await this.#pool.query({
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
        records.map(({ key }) => key),
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
      key,
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

  /** Returns at most 500 events. */
  async readEvents(runId: string, from: number): Promise<readonly Row<string>[]> {
    const rows = await this.#read<{ readonly seq: string; readonly body: string }>(
      "SELECT seq, body FROM turnwright.events WHERE run_id = $1 AND seq >= $2 ORDER BY seq LIMIT 500",
      [runId, from],
    );
    return rows.map(({ seq, body }) => ({ seq: Number(seq), body }));
  }

  async send(runId: string, message: RunMessage): Promise<void> {
    await this.#pool.query(send, [runId, JSON.stringify(message)]);
  }

  async notifyEnd(runId: string): Promise<void> {
    await this.#pool.query(`SELECT pg_notify('${endChannel}', $1)`, [runId]);
  }

  async wake(runId: string): Promise<void> {
    await this.#pool.query(`SELECT pg_notify('${eventChannel}', $1)`, [runId]);
  }

  async resetStalls(runId: string): Promise<void> {
    await this.#pool.query("UPDATE turnwright.runs SET stalls = 0 WHERE id = $1", [runId]);
  }

  /** Deletes everything about runs. The number of runs of a conversation stays, so that no run id is used twice. */
  async deleteRuns(ids: readonly string[]): Promise<void> {
    await this.#pool.query(deleteRuns, [ids]);
  }

  /** Calls `work` while no other worker deletes or retries runs. */
  changeRuns<T>(work: () => Promise<T>): Promise<T> {
    // Calls run one after the other. Otherwise, waiting calls would hold the connections that `work` needs.
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
