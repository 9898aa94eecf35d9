// The `turnwright/dbos` entry point: durable runs that use DBOS and Postgres to survive the death of their worker.

export { defineDurableHost, defineDurableLoop } from "./define-durable-loop.ts";
export type * from "../host/durable/public-types.ts";
export type { DurableRun } from "./list-runs.ts";
export { readWaits, runInWorkflow, sendAnswer } from "./run-in-workflow.ts";
export { launchWorker, type Worker } from "./worker.ts";
