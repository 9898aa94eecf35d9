export { anthropicMessages } from "./anthropic-messages.ts";
export type { AnthropicMessagesOptions, AnthropicServerTool, AnthropicThinking } from "./messages-options.ts";
export type { AnthropicMessagesClient, MessagesRequestBody, MessagesRequestOptions } from "./messages-options.ts";
