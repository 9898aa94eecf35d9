// Puts runs back into their queues: those of workers that died or froze, and those that this worker owns but is not executing.

import { DBOS } from "@dbos-inc/dbos-sdk";
import type { Client, Pool } from "pg";
import { attributesOf, loopOf, queueOf, stateOf } from "./list-runs.ts";
import { ifLockFree } from "./locks.ts";

/** The number of sweeps between two searches for runs without a worker. */
const orphanSweeps = 20;

/** A worker counts as dead if its lock was free, or its heartbeat late, in this many sweeps in a row. */
const freeSweeps = 2;
const lateSweeps = 3;

export interface TakingWorker {
  readonly id: string;
  readonly application: string;
  /** True while this worker is executing the run or storing how it ended. */
  isBusyWith(runId: string): boolean;
}

interface Doubt {
  readonly free: number;
  readonly late: number;
}

type Found = Awaited<ReturnType<typeof DBOS.listWorkflows>>[number];

export class Takeovers {
  readonly #pool: Pool;
  readonly #worker: TakingWorker;
  /** How many sweeps in a row have found a worker's lock free, or its heartbeat late. */
  #doubts: ReadonlyMap<string, Doubt> = new Map();
  /** The runs that this worker owned but did not execute at the previous check. */
  #idle: ReadonlySet<string> = new Set();
  /** The runs whose execution in this worker ended because another execution began. */
  readonly #lost = new Set<string>();
  /** The executions of runs that other workers have taken over. Each execution waits for its run to end. */
  readonly #parked = new Map<string, Set<() => void>>();
  #isSweeping = false;
  #sweeps = 0;

  constructor(pool: Pool, worker: TakingWorker) {
    this.#pool = pool;
    this.#worker = worker;
  }

  /**
   * Waits for the end of a run that another execution has taken over. If this worker still owns the run, puts it back into its queue. Also
   * resolves when `release` is called.
   */
  async untilEnded(runId: string): Promise<void> {
    this.#lost.add(runId);
    await new Promise<void>((resolve) => {
      this.#parked.set(runId, (this.#parked.get(runId) ?? new Set()).add(resolve));
    });
  }

  /** Resolves pending calls to `untilEnded` for a run, or for all runs. */
  release(runId?: string): void {
    for (const id of runId === undefined ? [...this.#parked.keys()] : [runId]) {
      for (const resolve of this.#parked.get(id) ?? []) resolve();
      this.#parked.delete(id);
    }
  }

  /**
   * Puts the runs of dead workers back into their queues. Only one worker at a time does this, because a run could otherwise begin twice.
   */
  async sweep(session: Client): Promise<void> {
    if (this.#isSweeping) return;
    this.#isSweeping = true;
    try {
      const dead = await this.#findDead(session);
      this.#sweeps += 1;
      const looksForOrphans = this.#sweeps % orphanSweeps === 0;
      if (looksForOrphans) await this.#releaseEnded();
      if (dead.length === 0 && this.#lost.size === 0 && !looksForOrphans) return;
      await ifLockFree(this.#pool, `takeovers of ${this.#worker.application}`, async () => {
        for (const id of dead) await this.#takeOver(id);
        await this.#putBackLost();
        if (!looksForOrphans) return;
        await this.#adoptOrphans();
        await this.#putBackIdle();
      });
    } finally {
      this.#isSweeping = false;
    }
  }

  /**
   * Finds workers that were stopped, have been silent for longer than the lease, or have lost their lock. One sweep is not enough:
   * after Postgres restarts, all heartbeats are late and all locks are free until the workers have reconnected.
   */
  async #findDead(session: Client): Promise<readonly string[]> {
    type Row = { readonly id: string; readonly stopped: boolean; readonly late: boolean; readonly free: boolean };
    const { rows } = await session.query<Row>(
      `SELECT id, beat = '-infinity' AS stopped, beat < now() - lease_ms * interval '1 millisecond' AS late,
         pg_try_advisory_lock(hashtextextended(id, 0)) AS free
       FROM turnwright.workers WHERE id <> $1 AND application = $2`,
      [this.#worker.id, this.#worker.application],
    );
    for (const { id, free } of rows) if (free) await session.query("SELECT pg_advisory_unlock(hashtextextended($1, 0))", [id]);
    const doubts = new Map<string, Doubt>();
    for (const { id, free, late } of rows) {
      const before = this.#doubts.get(id) ?? { free: 0, late: 0 };
      doubts.set(id, { free: free ? before.free + 1 : 0, late: late ? before.late + 1 : 0 });
    }
    this.#doubts = doubts;
    const isDead = ({ free, late }: Doubt): boolean => free >= freeSweeps || late >= lateSweeps;
    return rows.filter(({ id, stopped }) => stopped || isDead(doubts.get(id) ?? { free: 0, late: 0 })).map(({ id }) => id);
  }

  /**
   * Takes over runs whose worker is not in the table of workers, for example because another worker died while it was taking over
   * these runs.
   */
  async #adoptOrphans(): Promise<void> {
    const runs = await this.#list({});
    if (runs.length === 0) return;
    const { rows } = await this.#pool.query<{ readonly id: string }>("SELECT id FROM turnwright.workers");
    const known = new Set(rows.map(({ id }) => id));
    await this.#resume(runs.filter(({ executorId = "" }) => !known.has(executorId)));
  }

  /**
   * Puts back runs that this worker owns but is not executing, for example because the answer from Postgres was lost when DBOS took
   * the run from its queue. A run is put back only if two checks in a row have found it idle.
   */
  async #putBackIdle(): Promise<void> {
    const runs = (await this.#list({ executorId: this.#worker.id })).filter(
      ({ workflowID }) => !this.#worker.isBusyWith(workflowID),
    );
    await this.#resume(runs.filter((run) => this.#idle.has(claimOf(run))));
    this.#idle = new Set(runs.map(claimOf));
  }

  async #putBackLost(): Promise<void> {
    const lost = [...this.#lost];
    const ids = lost.filter((id) => !this.#worker.isBusyWith(id));
    if (ids.length > 0) await this.#resume(await this.#list({ executorId: this.#worker.id, workflowIDs: ids }));
    for (const id of lost) this.#lost.delete(id);
  }

  /** Releases executions that missed the notification of their run's end and are still waiting. */
  async #releaseEnded(): Promise<void> {
    const ids = [...this.#parked.keys()];
    if (ids.length === 0) return;
    const found = await DBOS.listWorkflows({ workflowIDs: ids, loadInput: false, loadOutput: false });
    const live = new Set(found.filter(({ status }) => stateOf(status) === "live").map(({ workflowID }) => workflowID));
    for (const id of ids) if (!live.has(id)) this.release(id);
  }

  /** Lists this application's runs that a worker has taken from a queue. */
  #list(which: { readonly executorId?: string; readonly workflowIDs?: string[] }): Promise<Found[]> {
    const attributes = attributesOf(this.#worker.application);
    return DBOS.listWorkflows({ ...which, attributes, status: "PENDING", loadInput: false, loadOutput: false });
  }

  /** Puts runs back into the queues of their loops. */
  async #resume(runs: readonly Found[]): Promise<void> {
    const loops = new Set(runs.map(({ workflowName }) => loopOf(workflowName)));
    for (const loop of loops) {
      const ids = runs.filter(({ workflowName }) => loopOf(workflowName) === loop).map(({ workflowID }) => workflowID);
      await DBOS.resumeWorkflows(ids, { queueName: queueOf(this.#worker.application, loop) });
    }
  }

  async #takeOver(workerId: string): Promise<void> {
    await this.#resume(await this.#list({ executorId: workerId }));
    // Deletes the dead worker's row last, so that another worker takes over the remaining runs if this one dies first.
    await this.#pool.query("DELETE FROM turnwright.workers WHERE id = $1", [workerId]);
  }
}

/** Returns a key for a worker's claim to a run. It includes the time of the claim, to tell two claims to the same run apart. */
function claimOf({ workflowID, dequeuedAt, updatedAt }: Found): string {
  return JSON.stringify([workflowID, dequeuedAt, updatedAt]);
}
