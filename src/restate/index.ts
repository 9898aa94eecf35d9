// The entry `turnwright/restate`: runs that survive their worker, on a Restate server.

export { defineDurableHost, defineDurableLoop } from "./define-durable-loop.ts";
export type * from "../host/durable/public-types.ts";
export { readWaits, runInWorkflow, sendAnswer, type RestateContext } from "./run-in-workflow.ts";
export { launchWorker, type Worker } from "./worker.ts";
