// The tables of durable loops in Postgres, beside those of DBOS: workers, events of runs, and messages to runs.

import type { Pool } from "pg";
import type { DurableStore, Row, RunMessage } from "../host/durable/durable-store.ts";

/** Locked while a process creates the tables, so that two processes do not create them together. */
const migrationLock = 7_233_410_001;

const tables = `
  CREATE SCHEMA IF NOT EXISTS turnwright;
  CREATE TABLE IF NOT EXISTS turnwright.workers (id text PRIMARY KEY, beat timestamptz NOT NULL);
  CREATE TABLE IF NOT EXISTS turnwright.runs (id text PRIMARY KEY, execution integer NOT NULL, next_event bigint NOT NULL);
  CREATE TABLE IF NOT EXISTS turnwright.events (
    run_id text NOT NULL, seq bigint NOT NULL, body text NOT NULL, PRIMARY KEY (run_id, seq));
  CREATE TABLE IF NOT EXISTS turnwright.conversations (id text PRIMARY KEY, runs integer NOT NULL);
  CREATE TABLE IF NOT EXISTS turnwright.messages (
    run_id text NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY, body text NOT NULL, PRIMARY KEY (run_id, seq));
`;

/** A read is repeated for about a minute. */
const mostAttempts = 240;
const retryMs = 250;

/** The channels of LISTEN and NOTIFY. The payload is the id of a run with new events or messages. */
export const eventChannel = "turnwright_events";
export const messageChannel = "turnwright_messages";

export class PostgresStore implements DurableStore {
  readonly #pool: Pool;

  /** Repeats a read that fails, for example while Postgres restarts. A failed read would otherwise end its run or its reader. */
  async #read<T extends object>(text: string, values: readonly unknown[]): Promise<readonly T[]> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return (await this.#pool.query<T>(text, [...values])).rows;
      } catch (error) {
        if (attempt === mostAttempts || this.#pool.ending) throw error;
        await new Promise((resolve) => setTimeout(resolve, retryMs));
      }
    }
  }

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async migrate(): Promise<void> {
    const client = await this.#pool.connect();
    try {
      await client.query("SELECT pg_advisory_lock($1)", [migrationLock]);
      await client.query(tables);
    } finally {
      await client.query("SELECT pg_advisory_unlock($1)", [migrationLock]);
      client.release();
    }
  }

  async begin(runId: string): Promise<number> {
    const rows = await this.#read<{ readonly execution: number }>(
      `INSERT INTO turnwright.runs VALUES ($1, 1, 0)
       ON CONFLICT (id) DO UPDATE SET execution = turnwright.runs.execution + 1 RETURNING execution`,
      [runId],
    );
    return rows[0]?.execution ?? 1;
  }

  async append(runId: string, execution: number, bodies: readonly string[]): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `WITH own AS (
         UPDATE turnwright.runs SET next_event = next_event + $3 WHERE id = $1 AND execution = $2 RETURNING next_event - $3 AS first),
       added AS (
         INSERT INTO turnwright.events SELECT $1, own.first + n - 1, body FROM own, unnest($4::text[]) WITH ORDINALITY AS t (body, n))
       SELECT pg_notify('${eventChannel}', $1) FROM own`,
      [runId, execution, bodies.length, bodies],
    );
    return rowCount === 1;
  }

  async countEvents(runId: string): Promise<number> {
    const [row] = await this.#read<{ readonly count: string }>("SELECT next_event AS count FROM turnwright.runs WHERE id = $1", [
      runId,
    ]);
    return Number(row?.count ?? 0);
  }

  /** Returns up to 500 events from the position `from`. */
  async readEvents(runId: string, from: number): Promise<readonly Row<string>[]> {
    const rows = await this.#read<{ readonly seq: string; readonly body: string }>(
      "SELECT seq, body FROM turnwright.events WHERE run_id = $1 AND seq >= $2 ORDER BY seq LIMIT 500",
      [runId, from],
    );
    return rows.map(({ seq, body }) => ({ seq: Number(seq), body }));
  }

  async send(runId: string, message: RunMessage): Promise<void> {
    await this.#pool.query("INSERT INTO turnwright.messages (run_id, body) VALUES ($1, $2)", [runId, JSON.stringify(message)]);
    await this.#pool.query(`SELECT pg_notify('${messageChannel}', $1)`, [runId]);
  }

  async wake(runId: string): Promise<void> {
    await this.#pool.query(`SELECT pg_notify('${eventChannel}', $1)`, [runId]);
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
