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
export type { HistoryProvider, ReadHistory } from "../shared/history/read-history.ts";
export type { LostContent } from "../shared/history/find-lost.ts";
