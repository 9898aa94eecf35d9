export { createConversation } from "./create-conversation.ts";
export { fileConversationStore } from "./file-conversation-store.ts";
export { memoryConversationStore } from "./memory-conversation-store.ts";
export { postgresConversationStore } from "./postgres-conversation-store.ts";
export type { Conversation, ConversationOptions } from "./conversation.ts";
export type { BuiltInConversationStore, ConversationStore, StoredConversation } from "./conversation-store.ts";
