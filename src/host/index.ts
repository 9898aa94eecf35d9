// The entry `turnwright/host`: runs that any number of readers follow, join and leave.

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
