// Neutral messages into messages of the Chat Completions wire, each converted once in its life.

import {
  assertNever,
  memoize,
  readTurn,
  toWireName,
  type AssistantMessage,
  type Json,
  type Message,
  type ToolCallPart,
  type ToolMessage,
} from "../core/provider-kit.ts";
import { toResultMedia, toUserContent } from "./chat-content.ts";
import { readMetadata } from "./chat-metadata.ts";
import type { ChatSettings } from "./chat-options.ts";
import type { ChatCall, ChatMessage, ChatPart } from "./chat-wire.ts";
import { sortResult, toMediaTitle, toWireArguments } from "./wire-calls.ts";

/** What of the options changes how a message is written. */
export type MessageSettings = Pick<ChatSettings, "id" | "model" | "echoReasoning" | "toolResultMedia" | "toWireCallId">;

/**
 * The wire's messages for one neutral message: none for an empty turn, several for the results of several calls. `index` is its position,
 * for the error where a user's message holds what the wire has no form for.
 */
export type MessageConverter = (message: Message, index: number) => readonly ChatMessage[];

/** Makes a converter that remembers what it has converted, by the identity of the message. */
export function createMessageConverter(settings: MessageSettings): MessageConverter {
  return memoize((message: Message, index: number) => convert(message, index, settings));
}

function convert(message: Message, index: number, settings: MessageSettings): readonly ChatMessage[] {
  switch (message.role) {
    case "user":
      return [{ role: "user", content: toUserContent(message.content, { provider: settings.id, message: index }) }];
    case "assistant":
      return convertTurn(message, settings);
    case "tool":
      return convertResults(message, settings);
    default:
      return assertNever(message);
  }
}

/** A turn that is empty on this wire, such as one of reasoning only, is left out: servers refuse it. */
function convertTurn(turn: AssistantMessage, settings: MessageSettings): readonly ChatMessage[] {
  const { text, calls: asked } = readTurn(turn);
  if (text === "" && asked.length === 0) return [];
  const { reasoningDetails, extras } = readMetadata(turn.providerMetadata, settings);
  const calls = asked.map((part, position) => toChatCall(part, extras.get(position), settings));
  return [
    {
      role: "assistant",
      content: text === "" ? null : text,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
      ...(settings.echoReasoning === undefined ? {} : { [settings.echoReasoning]: readReasoning(turn) }),
      ...(reasoningDetails === undefined ? {} : { reasoning_details: reasoningDetails }),
    },
  ];
}

/**
 * DeepSeek, when thinking, wants the field on every turn since the last question, and has been seen to refuse an empty one
 * (github.com/experientiallabs/experiential/pull/890, github.com/NousResearch/hermes-agent/pull/17341).
 */
function readReasoning({ content }: AssistantMessage): string {
  const reasoning = content.map((part) => (part.type === "reasoning" ? part.text : "")).join("");
  return reasoning === "" ? " " : reasoning;
}

function toChatCall({ callId, name, args }: ToolCallPart, extra: Json | undefined, { toWireCallId }: MessageSettings): ChatCall {
  return {
    id: toWireCallId(callId),
    type: "function",
    function: { name: toWireName(name), arguments: toWireArguments(args) },
    ...(extra === undefined ? {} : { extra_content: extra }),
  };
}

/** One message per result, at once after the turn; what tool messages cannot hold follows in one user message. */
function convertResults({ results }: ToolMessage, settings: MessageSettings): readonly ChatMessage[] {
  const inTool = settings.toolResultMedia === "tool-message";
  const messages: ChatMessage[] = [];
  const media: ChatPart[] = [];
  for (const result of results) {
    const { text: content, media: parts } = sortResult(result, toResultMedia);
    const id = settings.toWireCallId(result.callId);
    const stays = inTool && parts.length > 0;
    messages.push({ role: "tool", tool_call_id: id, content: stays ? [{ type: "text", text: content }, ...parts] : content });
    if (stays || parts.length === 0) continue;
    media.push({ type: "text", text: toMediaTitle(result.name, id) }, ...parts);
  }
  if (media.length > 0) messages.push({ role: "user", content: media });
  return messages;
}
