// The Postgres locks that a worker holds while it modifies runs through several connections.

import type { Pool } from "pg";

/** The time after which a frozen process loses its lock, in milliseconds. */
const frozenMs = "30000";

const setLimit = "SELECT set_config('idle_in_transaction_session_timeout', $2, true)";
const waitForLock = `${setLimit}, pg_advisory_xact_lock(hashtextextended($1, 2))`;
const tryLock = `${setLimit}, pg_try_advisory_xact_lock(hashtextextended($1, 2)) AS held`;

/** Waits for the lock with this name, and holds it until `work` has finished. */
export function whileLocked<T>(pool: Pool, name: string, work: () => Promise<T>): Promise<T> {
  return lock(pool, [waitForLock, name], work);
}

/** Calls `work` and holds the lock with this name until `work` has finished. Does nothing if another worker holds the lock. */
export function ifLockFree(pool: Pool, name: string, work: () => Promise<void>): Promise<void> {
  return lock(pool, [tryLock, name], async (isHeld) => {
    if (isHeld) await work();
  });
}

/** The key of the lock that a process holds during launch, when it may create or convert tables. */
const launchLock = 7_233_410_002;

/** How often a process tries to acquire the launch lock, and how long it keeps trying, in milliseconds. */
const tryAgainMs = 50;
const tryForMs = 60_000;

/**
 * Calls `work` while no other process is creating or converting tables. Polls for the lock, because a statement that waits for a lock would
 * hold a snapshot, and DBOS migrations wait for all snapshots to end. If another process holds the lock for longer than a minute, for
 * example because it froze, calls `work` anyway.
 */
export async function whileLaunching<T>(pool: Pool, work: () => Promise<T>): Promise<T> {
  const client = await pool.connect();
  try {
    const until = performance.now() + tryForMs;
    const tryToLock = async (): Promise<boolean> =>
      (await client.query<{ readonly held: boolean }>("SELECT pg_try_advisory_lock($1) AS held", [launchLock])).rows[0]?.held ===
      true;
    while (!(await tryToLock()) && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, tryAgainMs));
    return await work();
  } finally {
    // Closes the connection, which also releases the lock.
    client.release(true);
  }
}

async function lock<T>(
  pool: Pool,
  [statement, name]: readonly [string, string],
  work: (isHeld: boolean) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  let isOver = false;
  try {
    await client.query("BEGIN");
    const { rows } = await client.query<{ readonly held?: boolean }>(statement, [name, frozenMs]);
    const done = await work(rows[0]?.held === true);
    await client.query("COMMIT");
    isOver = true;
    return done;
  } finally {
    // Closes the connection if it may still hold the lock.
    client.release(!isOver);
  }
}
