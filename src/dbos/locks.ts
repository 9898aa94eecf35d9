// Locks in Postgres that a worker holds while it changes runs over several connections.

import type { Pool } from "pg";

/** A process that freezes loses its lock after this time, in milliseconds. */
const frozenMs = "10000";

const takeLock = `
  SELECT set_config('idle_in_transaction_session_timeout', $2, true), pg_try_advisory_xact_lock(hashtextextended($1, 2)) AS held`;

/** Calls `work` if no other worker holds the lock with this name. The lock is held until `work` has ended. */
export async function ifLockFree(pool: Pool, name: string, work: () => Promise<void>): Promise<void> {
  const client = await pool.connect();
  let isOver = false;
  try {
    await client.query("BEGIN");
    const { rows } = await client.query<{ readonly held: boolean }>(takeLock, [name, frozenMs]);
    if (rows[0]?.held === true) await work();
    await client.query("COMMIT");
    isOver = true;
  } finally {
    // A connection that may still hold the lock is closed.
    client.release(!isOver);
  }
}
