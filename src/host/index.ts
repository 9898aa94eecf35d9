// The entry `turnwright/host`: runs that any number of readers can join and leave.

export { createRunHost } from "./create-run-host.ts";
export { fileRunStore } from "./file-run-store.ts";
export type { AgentChange, ConversationUsage, Handover, RunReport } from "./handover.ts";
export type { KeepRuns } from "./keep-runs.ts";
export type { PageMessage } from "../web/read-user-message.ts";
export type { NodeResponse, SSEOptions } from "../web/sse-lines.ts";
export type { WhenSuspended } from "./waiting-calls.ts";
export type {
  CancelAnswer,
  HostedEvent,
  HostedLoopOptions,
  HostedRun,
  HostedStatus,
  HostedStream,
  JoinOptions,
  RemoveAnswer,
  ResumeAnswer,
  ResumeOptions,
  RunHost,
  RunHostOptions,
  StartAnswer,
  StartOptions,
  WhenBusy,
} from "./run-host.ts";
export {
  type ConversationRecord,
  type ConversationTurn,
  type ListedConversation,
  memoryRunStore,
  type MemoryRunStoreOptions,
  type RunStore,
} from "./run-store.ts";
export {
  type EventRequest,
  type EventSource,
  type EventStreamOptions,
  lastEventId,
  pipeEventStream,
  toEventStream,
  toEventStreamResponse,
} from "./to-event-stream.ts";
