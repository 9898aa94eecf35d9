// Takes over the runs of workers that died or froze.

import { DBOS } from "@dbos-inc/dbos-sdk";
import type { Client, Pool } from "pg";
import { attributesOf, loopOf, queueOf } from "./list-runs.ts";
import { ifLockFree } from "./locks.ts";

/** Once in this many sweeps, a worker also looks for runs whose worker is not in the table of workers. */
const orphanSweeps = 20;

export interface TakingWorker {
  readonly id: string;
  readonly application: string;
}

export class Takeovers {
  readonly #pool: Pool;
  readonly #worker: TakingWorker;
  /** The workers whose lock was free in the previous sweep. */
  #suspects: ReadonlySet<string> = new Set();
  #isSweeping = false;
  #sweeps = 0;

  constructor(pool: Pool, worker: TakingWorker) {
    this.#pool = pool;
    this.#worker = worker;
  }

  /** Resumes the runs of dead workers. Only one worker at a time does this, because a run could otherwise begin twice. */
  async sweep(session: Client): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      const dead = await this.#findDead(session);
      this.#sweeps += 1;
      const adopts = this.#sweeps % orphanSweeps === 0;
      if (dead.length === 0 && !adopts) return;
      await ifLockFree(this.#pool, `takeovers of ${this.#worker.application}`, async () => {
        for (const id of dead) await this.#takeOver(id);
        if (adopts) await this.#adoptOrphans();
      });
    } finally {
      this.#isSweeping = false;
    }
  }

  /**
   * Finds workers that are silent for longer than the lease, and workers whose lock was free in two sweeps. One sweep is not
   * enough: after a restart of Postgres, all locks are free until the workers have connected again.
   */
  async #findDead(session: Client): Promise<readonly string[]> {
    const { rows } = await session.query<{ readonly id: string; readonly late: boolean; readonly free: boolean }>(
      `SELECT id, beat < now() - lease_ms * interval '1 millisecond' AS late, pg_try_advisory_lock(hashtextextended(id, 0)) AS free
       FROM turnwright.workers WHERE id <> $1 AND application = $2`,
      [this.#worker.id, this.#worker.application],
    );
    const free = rows.filter((row) => row.free).map(({ id }) => id);
    for (const id of free) await session.query("SELECT pg_advisory_unlock(hashtextextended($1, 0))", [id]);
    const dead = rows.filter(({ id, late, free: isFree }) => late || (isFree && this.#suspects.has(id)));
    this.#suspects = new Set(free);
    return dead.map(({ id }) => id);
  }

  /**
   * Takes over runs whose worker is not in the table of workers, for example because another worker died while it was taking over
   * these runs.
   */
  async #adoptOrphans(): Promise<void> {
    const attributes = attributesOf(this.#worker.application);
    const runs = await DBOS.listWorkflows({ attributes, status: "PENDING", loadInput: false, loadOutput: false });
    if (runs.length === 0) return;
    const { rows } = await this.#pool.query<{ readonly id: string }>("SELECT id FROM turnwright.workers");
    const known = new Set(rows.map(({ id }) => id));
    await this.#resume(runs.filter(({ executorId = "" }) => !known.has(executorId)));
  }

  /** Puts runs back into the queues of their loops. */
  async #resume(runs: readonly { readonly workflowID: string; readonly workflowName: string }[]): Promise<void> {
    const loops = new Set(runs.map(({ workflowName }) => loopOf(workflowName)));
    for (const loop of loops) {
      const ids = runs.filter(({ workflowName }) => loopOf(workflowName) === loop).map(({ workflowID }) => workflowID);
      await DBOS.resumeWorkflows(ids, { queueName: queueOf(this.#worker.application, loop) });
    }
  }

  async #takeOver(workerId: string): Promise<void> {
    const attributes = attributesOf(this.#worker.application);
    const runs = await DBOS.listWorkflows({
      executorId: workerId,
      attributes,
      status: "PENDING",
      loadInput: false,
      loadOutput: false,
    });
    await this.#resume(runs);
    // This statement must be last. If this worker dies before this statement, another worker takes over the rest of the runs.
    await this.#pool.query("DELETE FROM turnwright.workers WHERE id = $1", [workerId]);
  }
}
