export { anthropicMessages } from "./anthropic-messages.ts";
export type { AnthropicMessagesOptions, AnthropicServerTool, AnthropicThinking } from "./messages-options.ts";
export type { AnthropicMessagesClient, MessagesRequestBody, MessagesRequestOptions } from "./messages-options.ts";
export type { ServiceName } from "../services/service.ts";
export {
  type AnthropicBlock,
  type AnthropicContent,
  type AnthropicHistory,
  type AnthropicMessage,
  fromAnthropicMessages,
  type FromAnthropicOptions,
  toAnthropicMessages,
  type ToAnthropicOptions,
} from "./anthropic-history.ts";
export type { HistoryProvider, LostContent, ReadHistory } from "../core/history-kit.ts";
