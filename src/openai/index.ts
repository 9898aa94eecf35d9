export type { OpenAIChatOptions } from "./chat-options.ts";
export { openaiChat } from "./openai-chat.ts";
export { openaiResponses } from "./openai-responses.ts";
export type { OpenAIResponsesOptions } from "./responses-options.ts";
export { fromOpenAIMessages, type OpenAIHistory, type OpenAIMessage, toOpenAIMessages } from "./openai-history.ts";
export type { ReadHistory } from "../shared/history/read-history.ts";
