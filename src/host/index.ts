// The entry `turnwright/host`: runs that any number of readers can join and leave.

export { createRunHost } from "./create-run-host.ts";
export { fileRunStore } from "./file-run-store.ts";
export type {
  HostedEvent,
  HostedLoopOptions,
  HostedRun,
  HostedStatus,
  HostedStream,
  JoinOptions,
  ResumeAnswer,
  ResumeOptions,
  RunHost,
  RunHostOptions,
  StartAnswer,
  StartOptions,
  WhenBusy,
} from "./run-host.ts";
export { type ConversationRecord, memoryRunStore, type MemoryRunStoreOptions, type RunStore } from "./run-store.ts";
export type { NodeResponse, SSEOptions } from "../core/web-kit.ts";
export {
  type EventRequest,
  type EventSource,
  type EventStreamOptions,
  lastEventId,
  pipeEventStream,
  toEventStream,
  toEventStreamResponse,
} from "./to-event-stream.ts";
