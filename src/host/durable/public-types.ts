// Exports the types that both entry points for durable runs share.

export type { DurableEvent, DurableLoop, DurableResult } from "./durable-loop.ts";
export type { DurableHost, DurableHostedRun } from "./durable-host.ts";
export type { Answers, ShownWait, WorkflowPorts } from "./run-in-engine.ts";
export type { KeepRuns } from "../../conversation/keep-runs.ts";
