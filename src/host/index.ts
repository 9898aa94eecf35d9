// The entry `turnwright/host`: runs that any number of readers can join and leave.

export { createRunHost } from "./create-run-host.ts";
export { fileRunStore } from "./file-run-store.ts";
export { memoryRunStore, type MemoryRunStoreOptions } from "./memory-run-store.ts";
export type { HostedEvent, HostedStream, JoinOptions } from "./hosted-event.ts";
export type {
  HostedLoopOptions,
  HostedRun,
  HostedStatus,
  ResumeAnswer,
  ResumeOptions,
  RunHost,
  RunHostOptions,
  StartAnswer,
  StartOptions,
  WhenBusy,
} from "./run-host.ts";
export type { ConversationRecord, RunStore } from "./run-store.ts";
export { type EventRequest, lastEventId } from "./last-event-id.ts";
export type { NodeResponse, SSEOptions } from "../core/web-kit.ts";
export {
  type EventSource,
  type EventStreamOptions,
  pipeEventStream,
  toEventStream,
  toEventStreamResponse,
} from "./to-event-stream.ts";
