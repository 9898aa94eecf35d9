// Neutral messages into messages of the Messages wire, each converted once in its life.

import { assertNever, hasSucceeded, isRecord, memoize, readTurn, toWireName } from "../core/provider-kit.ts";
import type { AssistantMessage, Json, Message, ToolCallPart, ToolMessage, ToolResultPart } from "../core/provider-kit.ts";
import { toResultBlocks, toTextBlocks, toUserBlocks } from "./content-blocks.ts";
import type { WireBlock, WireContainer, WireMessage } from "./messages-wire.ts";
import { closeTurn, invalidJsonKey, type MetadataReader, readMetadata, toWireId } from "./provider-metadata.ts";

/** One message as it is sent. */
interface ConvertedMessage {
  /** Where something follows it. Its content may be empty: then the message is left out. */
  readonly wire: WireMessage;
  /** As the last message of a request: a paused turn goes back exactly as it came. */
  readonly asLast: WireMessage;
  /** Whether a turn was written anew, so that it has lost its thinking. */
  readonly isRebuilt: boolean;
  readonly container: WireContainer | undefined;
}

/**
 * Converts a message; `index` is its position. Throws a ProviderError `bad-request` where a user's message holds what the wire has no form
 * for.
 */
export type MessageConverter = (message: Message, index: number) => ConvertedMessage;

/** Makes a converter that remembers what it has converted, by the identity of the message. */
export function createMessageConverter(reader: MetadataReader): MessageConverter {
  return memoize((message: Message, index: number) => convert(message, index, reader));
}

function convert(message: Message, index: number, reader: MetadataReader): ConvertedMessage {
  switch (message.role) {
    case "user":
      return toUserMessage(toUserBlocks(message.content, { provider: reader.id, message: index }));
    case "assistant":
      return convertTurn(message, reader);
    case "tool":
      return toUserMessage(convertResults(message));
    default:
      return assertNever(message);
  }
}

function toUserMessage(content: readonly WireBlock[]): ConvertedMessage {
  const wire: WireMessage = { role: "user", content };
  return { wire, asLast: wire, isRebuilt: false, container: undefined };
}

function convertTurn(message: AssistantMessage, reader: MetadataReader): ConvertedMessage {
  const { blocks, container } = readMetadata(message, reader);
  const asLast: WireMessage = { role: "assistant", content: blocks ?? rebuildTurn(message) };
  const closed = closeTurn(asLast.content);
  const wire = closed === asLast.content ? asLast : { ...asLast, content: closed };
  return { wire, asLast, isRebuilt: blocks === undefined, container };
}

/** Text and calls only: reasoning without its signature is refused. The service also refuses a last turn that ends in a space. */
function rebuildTurn(turn: AssistantMessage): readonly WireBlock[] {
  const { text, calls } = readTurn(turn);
  return [...toTextBlocks(text.trimEnd()), ...calls.map(toToolUse)];
}

function toToolUse({ callId, name, args }: ToolCallPart): WireBlock {
  return { type: "tool_use", id: toWireId(callId), name: toWireName(name), input: toWireInput(args) };
}

/** The wire wants an object, which arguments of a call that was refused need not be. */
function toWireInput(args: Json): Json {
  return isRecord(args) ? args : { [invalidJsonKey]: args };
}

/** All results of a turn, in one message. */
function convertResults({ results }: ToolMessage): readonly WireBlock[] {
  return results.map(toToolResult);
}

function toToolResult(part: ToolResultPart): WireBlock {
  const id = { type: "tool_result", tool_use_id: toWireId(part.callId) } as const;
  const content = toResultContent(part);
  return { ...id, ...(content === undefined ? {} : { content }), ...(hasSucceeded(part) ? {} : { is_error: true }) };
}

/** A text alone stays a string; beside images and files it is a block of its own; nothing is nothing. */
function toResultContent({ result, content = [] }: ToolResultPart): Json | undefined {
  const text = typeof result === "string" ? result : JSON.stringify(result);
  const more = toResultBlocks(content);
  if (more.length === 0) return text === "" ? undefined : text;
  return [...toTextBlocks(text), ...more];
}
