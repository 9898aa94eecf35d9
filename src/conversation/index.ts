export { createConversation } from "./create-conversation.ts";
export { fileConversationStore, type FileConversationStoreOptions } from "./file-conversation-store.ts";
export { memoryConversationStore, type MemoryConversationStoreOptions } from "./memory-conversation-store.ts";
export {
  type PostgresPool,
  postgresConversationStore,
  type PostgresConversationStoreOptions,
} from "./postgres-conversation-store.ts";
export type {
  Conversation,
  ConversationOptions,
  ConversationRunOptions,
  ConversationStatus,
  ForkOptions,
  NewMessages,
  ResumeOverrides,
  RunOverrides,
} from "./conversation.ts";
export type { KeepRuns } from "./keep-runs.ts";
export type { WhenSuspended } from "./waiting-calls.ts";
export type { AgentChange, ConversationUsage, Handover, RunReport } from "./handover.ts";
export type {
  ConversationChange,
  ConversationLock,
  ConversationState,
  ConversationStore,
  ConversationTurn,
  StoredConversation,
  StoredJournal,
  StoredListing,
  StoredRun,
} from "./conversation-store.ts";
