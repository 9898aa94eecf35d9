import { DBOS } from "@dbos-inc/dbos-sdk";
import { checkFields, type Checks, invalidOption, is } from "../core/kit.ts";
import { answerWithin } from "../shared/repeat-failed.ts";
import type { PostgresStore } from "./postgres-store.ts";

/** Returns the name of a loop's queue. A worker takes runs only from its own loops' queues, because it cannot execute other loops. */
export function queueOf(application: string, loop: string): string {
  return `turnwright ${application} ${loop}`;
}

/** Returns the attributes that mark the runs of an application, so that they can be listed. */
export function attributesOf(application: string): { readonly [name: string]: string } {
  return { turnwright: application };
}

const workflowPrefix = "turnwright ";

export function workflowNameOf(loop: string): string {
  return workflowPrefix + loop;
}

export function loopOf(workflowName: string): string {
  return workflowName.slice(workflowPrefix.length);
}

/** A run of a durable loop. */
export interface DurableRun {
  readonly id: string;
  /** The name of the durable loop or durable host. */
  readonly loop: string;
  /** "failed" means that the run's `result` rejects. "live" means that the run is running, or is waiting for a decision or a worker. */
  readonly state: "live" | "ended" | "failed";
  /** The reason why the run failed. */
  readonly error?: string | undefined;
  readonly startedAt: Date;
  /** The time of the most recent change to the run, such as a takeover by another worker. */
  readonly changedAt: Date;
  /**
   * The id of the worker that is executing the run, or that most recently executed it. Undefined while the run is waiting for a worker.
   */
  readonly workerId?: string | undefined;
}

/** The runs to list. */
export interface RunFilter {
  /** The name of a durable loop or host. Default: runs of all loops. */
  readonly loop?: string | undefined;
  /** The state of the runs to list. Default: all states. */
  readonly state?: DurableRun["state"] | undefined;
  /** Lists only runs that started before this time. Default: no limit. */
  readonly startedBefore?: Date | undefined;
  /** The maximum number of runs. Default 100. */
  readonly limit?: number | undefined;
}

const isDate = (value: unknown): boolean => value instanceof Date && !Number.isNaN(value.getTime());

const filterChecks: Checks<RunFilter> = {
  loop: is.text,
  state: ["live", "ended", "failed"],
  startedBefore: ["a valid Date", isDate],
  limit: { min: 1, max: 10_000 },
};

/** The runs to delete. Pass exactly one of the fields. */
export type DeleteFilter =
  | { readonly endedBefore: Date; readonly ids?: undefined }
  | { readonly ids: readonly string[]; readonly endedBefore?: undefined };

const isIds = (value: unknown): boolean => Array.isArray(value) && value.every((id) => typeof id === "string");

const deleteChecks: Checks<DeleteFilter> = {
  endedBefore: ["a valid Date", isDate],
  ids: ["an array of run ids", isIds],
};

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
  return error instanceof Error ? error.message : `The DBOS workflow of the run has the status ${status}.`;
}

export async function listRuns(application: string, filter: RunFilter = {}): Promise<readonly DurableRun[]> {
  checkFields("filter", filter, filterChecks);
  const { state, loop: name, startedBefore, limit = 100 } = filter;
  const found = await DBOS.listWorkflows({
    attributes: attributesOf(application),
    limit,
    sortDesc: true,
    loadInput: false,
    loadOutput: true,
    ...(state === undefined ? {} : { status: statuses[state] }),
    ...(name === undefined ? {} : { workflowName: workflowNameOf(name) }),
    ...(startedBefore === undefined ? {} : { endTime: startedBefore.toISOString() }),
  });
  return found.map((run) => {
    const { workflowID: id, workflowName, status, createdAt, updatedAt = createdAt, executorId } = run;
    const is = stateOf(status);
    const error = is === "failed" ? { error: errorOf(run) } : {};
    const loop = loopOf(workflowName);
    // Until a worker takes the run, `executorId` names the process that started it, so it is not reported as the worker.
    const workerId = is === "live" && status !== "PENDING" ? undefined : executorId;
    return {
      id,
      loop,
      state: is,
      ...error,
      startedAt: new Date(createdAt),
      changedAt: new Date(updatedAt),
      workerId,
    };
  });
}

const batchSize = 200;

export interface DeletingWorker {
  readonly application: string;
  readonly store: PostgresStore;
  readonly answerMs: number;
}

export async function deleteRuns({ application, store, answerMs }: DeletingWorker, filter: DeleteFilter): Promise<number> {
  checkFields("filter", filter, deleteChecks);
  const { endedBefore, ids } = filter;
  if ((endedBefore === undefined) === (ids === undefined))
    throw invalidOption("filter", 'an object with exactly one of "endedBefore" and "ids"', filter);
  const status = [...statuses.ended, ...statuses.failed];
  const which = ids === undefined ? { completedBefore: endedBefore.toISOString() } : { workflowIDs: [...ids] };
  const attributes = attributesOf(application);
  if (ids?.length === 0) return 0;
  // Deletes the runs' data, then their workflows. Does both inside `changeRuns`, because a run could otherwise be retried or started again
  // in between.
  const deleteBatch = async (): Promise<number> => {
    const found = await DBOS.listWorkflows({
      ...which,
      attributes,
      status,
      limit: batchSize,
      loadInput: false,
      loadOutput: false,
    });
    if (found.length === 0) return 0;
    const batch = found.map(({ workflowID }) => workflowID);
    // Deletes these rows before the workflows, so that a repeated call still finds the runs if the process dies in between.
    await store.deleteRuns(batch);
    await DBOS.deleteWorkflows(batch);
    return batch.length;
  };
  for (let count = 0; ;) {
    const deleted = await answerWithin(() => store.changeRuns(deleteBatch), "deleteRuns", answerMs);
    if (deleted === 0) return count;
    count += deleted;
  }
}
