export { anthropicMessages } from "./anthropic-messages.ts";
export type { AnthropicMessagesOptions } from "./messages-options.ts";
export { type AnthropicHistory, type AnthropicMessage, fromAnthropicMessages, toAnthropicMessages } from "./anthropic-history.ts";
export type { ReadHistory } from "../shared/history/read-history.ts";
