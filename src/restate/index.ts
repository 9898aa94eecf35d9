// The entry `turnwright/restate`: runs that survive their worker, on a Restate server.

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
export type { Answers, ShownWait, WorkflowPorts } from "../host/durable/run-in-engine.ts";
export { readWaits, runInWorkflow, sendAnswer, type RestateContext, type SharedContext } from "./run-in-workflow.ts";
export { launchWorker, type Worker, type WorkerOptions } from "./worker.ts";
