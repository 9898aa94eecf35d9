// The entry `turnwright/dbos`: runs that survive their worker, on DBOS and Postgres.

export { dbosJournal, readDbosJournal, sendDecision } from "./dbos-journal.ts";
export { defineDurableHost, defineDurableLoop } from "./define-durable-loop.ts";
export type {
  DurableEvent,
  DurableEventsOptions,
  DurableLoop,
  DurableLoopFields,
  DurableLoopOptions,
  DurableOwnOptions,
  DurableResult,
} from "../host/durable/durable-loop.ts";
export type {
  DurableHost,
  DurableHostedRun,
  DurableHostFields,
  DurableHostStatus,
  DurableJoinOptions,
  DurableResumeAnswer,
  DurableRunInput,
  DurableRunOptions,
  DurableStartAnswer,
  DurableStartInput,
  DurableStartOptions,
} from "../host/durable/durable-host.ts";
export type { DeleteFilter, DurableRun, RunFilter } from "./list-runs.ts";
export { launchWorker, type Worker, type WorkerOptions } from "./worker.ts";
