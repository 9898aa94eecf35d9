// Notifies all processes of the runs that have ended, as soon as DBOS has stored the end of these runs.

import { DBOS } from "@dbos-inc/dbos-sdk";

/** The shortest and the longest time between two checks, in milliseconds. The time grows while no run ends. */
const firstWaitMs = 10;
const maxWaitMs = 1_000;

export interface RunEndsPorts {
  readonly workerId: string;
  readonly stopping: AbortSignal;
  notify(runIds: readonly string[]): Promise<void>;
}

export class RunEnds {
  readonly #ports: RunEndsPorts;
  /** The runs whose end DBOS has not stored yet. */
  readonly #runs = new Set<string>();
  #waitMs = firstWaitMs;
  #isWatching = false;

  constructor(ports: RunEndsPorts) {
    this.#ports = ports;
  }

  has(runId: string): boolean {
    return this.#runs.has(runId);
  }

  /** All runs are checked together, so that many runs that end at the same time do not keep Postgres busy. */
  add(runId: string): void {
    this.#runs.add(runId);
    this.#waitMs = firstWaitMs;
    if (this.#isWatching) return;
    this.#isWatching = true;
    void this.#watch().finally(() => (this.#isWatching = false));
  }

  async #watch(): Promise<void> {
    while (this.#runs.size > 0) {
      const waitMs = this.#waitMs;
      this.#waitMs = Math.min(2 * waitMs, maxWaitMs);
      await new Promise((resolve) => setTimeout(resolve, waitMs));
      if (this.#ports.stopping.aborted) return;
      // If a check fails, for example while Postgres restarts, the next check follows.
      await this.#check().catch(() => {});
    }
  }

  async #check(): Promise<void> {
    const ids = [...this.#runs];
    const found = await DBOS.listWorkflows({ workflowIDs: ids, status: "PENDING", loadInput: false, loadOutput: false });
    // If another worker has taken over a run, that worker notifies the processes of its end.
    const live = new Set(
      found.filter(({ executorId }) => executorId === this.#ports.workerId).map(({ workflowID }) => workflowID),
    );
    const ended = ids.filter((id) => !live.has(id));
    if (ended.length === 0) return;
    this.#waitMs = firstWaitMs;
    await this.#ports.notify(ended);
    for (const id of ended) this.#runs.delete(id);
  }
}
