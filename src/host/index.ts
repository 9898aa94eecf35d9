// The `turnwright/host` entry point: runs that any number of readers can join and leave.

export { createRunHost } from "./create-run-host.ts";
export type { HostedEvent, HostedLoopOptions, HostedRun, ResumeAnswer, RunHost, StartAnswer } from "./run-host.ts";
export { type EventSource, lastEventId, pipeEventStream, toEventStream, toEventStreamResponse } from "./to-event-stream.ts";
