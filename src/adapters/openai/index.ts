// The entry `turnwright/openai`.

export type { OpenAIChatOptions } from "./chat-options.ts";
export type { ChatRequestBody, OpenAIChatClient } from "./chat-wire.ts";
export { openaiChat } from "./openai-chat.ts";
