export type { OpenAIChatOptions } from "./chat-options.ts";
export type { ChatRequestBody, OpenAIChatClient } from "./chat-options.ts";
export type { ServiceName } from "../services/service.ts";
export { openaiChat } from "./openai-chat.ts";
export { openaiResponses } from "./openai-responses.ts";
export type { OpenAICustomToolFormat, OpenAIReasoning, OpenAIResponsesOptions, OpenAIServerTool } from "./responses-options.ts";
export type { OpenAIResponsesClient, ResponsesRequestBody } from "./responses-options.ts";
export {
  fromOpenAIMessages,
  type OpenAIHistory,
  type OpenAIHistoryOptions,
  type OpenAIMessage,
  type OpenAIMessageCall,
  type OpenAIMessagePart,
  type OpenAIMessagesApi,
  toOpenAIMessages,
  type ToOpenAIOptions,
} from "./openai-history.ts";
export type { HistoryProvider, ReadHistory } from "../shared/history/read-history.ts";
export type { LostContent } from "../shared/history/find-lost.ts";
