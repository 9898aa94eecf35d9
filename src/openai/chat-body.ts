// The body of one request. What repeats from iteration to iteration, messages and tools, is converted once and only gathered here.

import { memoize, type ModelRequest, type ModelSettings, type ToolChoice, type ToolDefinition } from "../core/provider-kit.ts";
import type { MessageConverter } from "./chat-messages.ts";
import type { ChatSettings } from "./chat-options.ts";
import type { ChatMessage, ChatRequestBody, ChatTool } from "./chat-wire.ts";

/** Writes a request. `extra` comes last and may replace every field but `stream`. */
export function buildChatBody(request: ModelRequest, settings: ChatSettings, toMessages: MessageConverter): ChatRequestBody {
  const { system, messages, tools, toolChoice, settings: model = {} } = request;
  const wire: ChatMessage[] = [];
  if (system !== undefined && system !== "") wire.push({ role: "system", content: system });
  for (const [index, message] of messages.entries()) wire.push(...toMessages(message, index));
  return {
    model: settings.model,
    messages: wire,
    ...(tools.length === 0 ? {} : { tools: tools.map(toChatTool), ...toChoiceField(toolChoice) }),
    ...(settings.includeUsage ? { stream_options: { include_usage: true } } : {}),
    ...toSettingFields(model, settings.maxTokensField),
    // Spread, not assigned: an own key "__proto__" stays a field.
    ...model.extra,
    stream: true,
  };
}

function toSettingFields(model: ModelSettings, maxTokensField: string): object {
  const { maxOutputTokens, temperature, topP, stopSequences, seed } = model;
  return {
    ...(maxOutputTokens === undefined ? {} : { [maxTokensField]: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? {} : { stop: stopSequences }),
    ...(seed === undefined ? {} : { seed }),
  };
}

function toChoiceField(choice: ToolChoice | undefined): object {
  if (choice === undefined) return {};
  return { tool_choice: typeof choice === "string" ? choice : { type: "function", function: { name: choice.name } } };
}

const toChatTool = memoize(({ name, description, inputSchema }: ToolDefinition): ChatTool => ({
  type: "function",
  function: { name, description, parameters: inputSchema },
}));
