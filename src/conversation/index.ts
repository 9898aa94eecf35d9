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
export type { ConversationUsage } from "./conversation-state.ts";
export type {
  ConversationChange,
  ConversationLock,
  ConversationState,
  ConversationStore,
  StoredConversation,
  StoredRun,
} from "./conversation-store.ts";
