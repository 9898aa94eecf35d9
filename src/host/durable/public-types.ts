// The types that both entries of durable runs export.

export type { DurableEvent, DurableLoop, DurableResult } from "./durable-loop.ts";
export type { DurableHost, DurableHostedRun } from "./durable-host.ts";
export type { Answers, ShownWait, WorkflowPorts } from "./run-in-engine.ts";
export type { KeepRuns } from "../../conversation/keep-runs.ts";
