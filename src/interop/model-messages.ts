// The transcript as tools of the AI SDK read it: its ModelMessage.

import {
  assertNever,
  type AssistantPart,
  hasSucceeded,
  type Message,
  type ToolResultPart,
  type UserMessage,
} from "../core/entry-kit.ts";

/** One message of the AI SDK, as plain data. */
export type ModelMessage = { readonly role: string; readonly content: unknown };

/**
 * The messages in front of a call, without the turn that asked for it, as the AI SDK hands them to its tools.
 *
 * @see https://ai-sdk.dev/docs/reference/ai-sdk-core/model-message
 */
export function toModelMessages(messages: readonly Message[], callId: string): readonly ModelMessage[] {
  const asking = messages.map((message) => asksFor(message, callId)).lastIndexOf(true);
  return (asking === -1 ? messages : messages.slice(0, asking)).map(toModelMessage);
}

function asksFor(message: Message, callId: string): boolean {
  return message.role === "assistant" && message.content.some((part) => part.type === "tool-call" && part.callId === callId);
}

function toModelMessage(message: Message): ModelMessage {
  switch (message.role) {
    case "user":
      return { role: "user", content: toUserContent(message) };
    case "assistant":
      return { role: "assistant", content: message.content.map(toAssistantPart) };
    case "tool":
      return { role: "tool", content: message.results.map(toResult) };
    default:
      return assertNever(message);
  }
}

function toUserContent({ content }: UserMessage): unknown {
  if (typeof content === "string") return content;
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    return part.type === "image"
      ? { type: "image", image: part.data, mediaType: part.mediaType }
      : { type: "file", data: part.data, mediaType: part.mediaType };
  });
}

function toAssistantPart(part: AssistantPart): unknown {
  if (part.type !== "tool-call") return { type: part.type, text: part.text };
  return { type: "tool-call", toolCallId: part.callId, toolName: part.name, input: part.args };
}

function toResult(part: ToolResultPart): unknown {
  const { callId, name, result } = part;
  const kind = typeof result === "string" ? "text" : "json";
  const output = { type: hasSucceeded(part) ? kind : `error-${kind}`, value: result };
  return { type: "tool-result", toolCallId: callId, toolName: name, output };
}
