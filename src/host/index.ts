// The entry `turnwright/host`: runs that any number of readers can join and leave.

export { createRunHost } from "./create-run-host.ts";
export type { AgentChange, ConversationUsage, Handover, RunReport } from "../conversation/handover.ts";
export type { ConversationStore, ConversationTurn, StoredListing } from "../conversation/conversation-store.ts";
export type { KeepRuns } from "../conversation/keep-runs.ts";
export type { PageMessage } from "../web/read-user-message.ts";
export type { NodeResponse, SSEOptions } from "../web/sse-lines.ts";
export type { WhenSuspended } from "../conversation/waiting-calls.ts";
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
  type EventRequest,
  type EventSource,
  type EventStreamOptions,
  lastEventId,
  pipeEventStream,
  toEventStream,
  toEventStreamResponse,
} from "./to-event-stream.ts";
