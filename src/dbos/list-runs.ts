// The runs of all durable loops, for operators.

import { DBOS } from "@dbos-inc/dbos-sdk";
import { checkFields, checkRequired, type Checks, numberWithin, oneOf } from "../core/entry-kit.ts";
import type { PostgresStore } from "./postgres-store.ts";

/** The queue of all durable loops. Each worker takes runs from it. */
export const queueName = "turnwright";

/** The name of the workflow of a durable loop begins with this text. */
const prefix = "turnwright ";

export function workflowNameOf(loop: string): string {
  return prefix + loop;
}

/** A run of a durable loop. */
export interface DurableRun {
  readonly id: string;
  /** The name of its durable loop, or of its durable host. */
  readonly loop: string;
  /** `failed`: its `result` rejects. `live`: it is running, waiting for a decision or for a worker. */
  readonly state: "live" | "ended" | "failed";
  /** Why the run failed. */
  readonly error?: string | undefined;
  readonly startedAt: Date;
  /** The last time that its state changed, for example because another worker took it over. */
  readonly changedAt: Date;
  /** The id of the worker that executes it, or executed it last. Undefined while it waits for its first worker. */
  readonly workerId?: string | undefined;
}

/** The runs to list. */
export interface RunFilter {
  /** Default: runs in all states. */
  readonly state?: DurableRun["state"] | undefined;
  /** Only runs that started before this time. Default: no limit. */
  readonly startedBefore?: Date | undefined;
  /** The maximum number of runs. Default 100. */
  readonly limit?: number | undefined;
}

const isDate = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime());

const filterChecks: Checks<RunFilter> = {
  state: oneOf("live", "ended", "failed"),
  startedBefore: ["a valid Date", isDate],
  limit: numberWithin({ min: 1, max: 10_000 }),
};

const deleteChecks: Checks<{ readonly endedBefore: Date }> = { endedBefore: ["a valid Date", isDate] };

type Status = NonNullable<Extract<Parameters<typeof DBOS.listWorkflows>[0]["status"], string>>;

const statuses: { readonly [state in DurableRun["state"]]: Status[] } = {
  live: ["PENDING", "ENQUEUED", "DELAYED"],
  ended: ["SUCCESS"],
  failed: ["ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"],
};

export function stateOf(status: string): DurableRun["state"] {
  if (status === "SUCCESS") return "ended";
  return statuses.live.some((one) => one === status) ? "live" : "failed";
}

export function errorOf({ error, status }: { readonly error?: unknown; readonly status: string }): string {
  return error instanceof Error ? error.message : `The workflow has the status ${status}.`;
}

export async function listRuns(filter: RunFilter = {}): Promise<readonly DurableRun[]> {
  checkFields("filter", filter, filterChecks);
  const { state, startedBefore, limit = 100 } = filter;
  const found = await DBOS.listWorkflows({
    queueName,
    limit,
    sortDesc: true,
    loadInput: false,
    loadOutput: true,
    ...(state === undefined ? {} : { status: statuses[state] }),
    ...(startedBefore === undefined ? {} : { endTime: startedBefore.toISOString() }),
  });
  return found.map((run) => {
    const { workflowID: id, workflowName, status, createdAt, updatedAt = createdAt, executorId } = run;
    const is = stateOf(status);
    const error = is === "failed" ? { error: errorOf(run) } : {};
    const loop = workflowName.slice(prefix.length);
    return {
      id,
      loop,
      state: is,
      ...error,
      startedAt: new Date(createdAt),
      changedAt: new Date(updatedAt),
      workerId: executorId,
    };
  });
}

/** The number of runs that are deleted together. */
const batchSize = 200;

export async function deleteRuns(store: PostgresStore, filter: { readonly endedBefore: Date }): Promise<number> {
  checkFields("filter", filter, deleteChecks);
  checkRequired(filter, deleteChecks, ["endedBefore"]);
  const status = [...statuses.ended, ...statuses.failed];
  const completedBefore = filter.endedBefore.toISOString();
  for (let count = 0; ;) {
    const facts = { queueName, status, completedBefore, limit: batchSize, loadInput: false, loadOutput: false };
    const ids = (await DBOS.listWorkflows(facts)).map(({ workflowID }) => workflowID);
    if (ids.length === 0) return count;
    // The workflows last, so that a repetition finds them if the process dies in between.
    await store.deleteRuns(ids);
    await DBOS.deleteWorkflows(ids);
    count += ids.length;
  }
}
