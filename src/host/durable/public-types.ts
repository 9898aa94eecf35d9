// The types that both entries of durable runs export.

export type {
  DurableEvent,
  DurableEventsOptions,
  DurableLoop,
  DurableLoopFields,
  DurableLoopOptions,
  DurableOwnOptions,
  DurableResult,
} from "./durable-loop.ts";
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
} from "./durable-host.ts";
export type { Answers, ShownWait, WorkflowPorts } from "./run-in-engine.ts";
export type { KeepRuns } from "../../conversation/keep-runs.ts";
