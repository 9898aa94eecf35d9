import type { Pool } from "pg";

/** Writes into DBOS's tables that a worker has taken a run from its queue. */
export async function own(pool: Pool, runId: string, workerId: string): Promise<void> {
  await pool.query(
    `INSERT INTO dbos.workflow_status (workflow_uuid, status, name, executor_id, created_at, updated_at)
     VALUES ($1, 'PENDING', 'turnwright unknown', $2, 0, 0)
     ON CONFLICT (workflow_uuid) DO UPDATE SET status = 'PENDING', executor_id = EXCLUDED.executor_id`,
    [runId, workerId],
  );
}

/** Creates the part of DBOS's tables that says which worker owns a run, for tests without DBOS. */
export async function createOwners(pool: Pool): Promise<void> {
  await pool.query(
    `CREATE SCHEMA dbos; CREATE TABLE dbos.workflow_status (
       workflow_uuid text PRIMARY KEY, status text, name text, executor_id text, created_at bigint, updated_at bigint)`,
  );
}
