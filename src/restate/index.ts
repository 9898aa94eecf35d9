// The `turnwright/restate` entry point: uses a Restate server for runs that survive the death of their worker.

export { defineDurableHost, defineDurableLoop } from "./define-durable-loop.ts";
export type * from "../host/durable/public-types.ts";
export { readWaits, runInWorkflow, sendAnswer, type RestateContext } from "./run-in-workflow.ts";
export { launchWorker, type Worker } from "./worker.ts";
