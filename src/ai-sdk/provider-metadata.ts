// An assistant message as the model wrote it. Its parts are kept as provider metadata, in order, and sent back with all metadata
// of the service. Reasoning has a signature or an id, and only these parts contain the results of the service's own tools.

import {
  type AssistantMessage,
  isRecord,
  type Json,
  type MetadataReader,
  readOwnItems,
  type RecordedMessage,
  saysTheSame,
  type ToolCallPart,
} from "../core/provider-kit.ts";
import { isPromptName, toFileSource } from "./turn-parts.ts";
import type { PromptMessage, PromptPart, SpecWords, MessagePart } from "./model-options.ts";

/** An answer to a service that asks for permission to run one of its own tools. */
export interface ApprovalAnswer {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string;
}

/** The provider metadata of a message. */
export interface MessageRecord {
  readonly parts: readonly MessagePart[];
  /** Sources and citations, which no service needs back. */
  readonly references: readonly Json[];
  readonly answers: readonly ApprovalAnswer[];
}

/** Makes one part of provider metadata for each item, in the form of `readMetadata`. */
export function toMetadataItems({ parts, references, answers }: MessageRecord): readonly Json[] {
  return [...parts.map((part) => ({ part })), ...references, ...answers.map((answer) => ({ approval: { ...answer } }))];
}

/** The reader of a message. */
export interface OwnMessageReader extends MetadataReader {
  readonly words: SpecWords;
}

/** A converted assistant message, and the metadata of its calls that their results need. */
interface MetadataContent {
  readonly messages: readonly PromptMessage[];
  readonly callOptions: ReadonlyMap<string, Json>;
}

/**
 * Reads the provider metadata of an assistant message. Undefined if the message must be written from its neutral parts: if a part
 * is of another service or model, because signatures are not portable, or if the parts do not match the neutral ones. They match
 * with the same text, and the same calls with the same ids. They differ if a call got another id, a continuation was cut off, or
 * the message was edited.
 */
export function readMetadata(turn: AssistantMessage, reader: OwnMessageReader): MetadataContent | undefined {
  const own = readOwnItems(turn.providerMetadata, reader) ?? [];
  const items = own.flatMap(({ part, approval }): readonly (MessagePart | ApprovalAnswer)[] =>
    isMessagePart(part) ? [part] : isAnswer(approval) ? [approval] : [],
  );
  const parts = items.filter((item) => isMessagePart(item));
  if (parts.length === 0 || !saysTheSame(turn, toRecorded(parts))) return undefined;
  return { messages: toMessages(items, reader.words), callOptions: new Map(parts.flatMap(toCallOptions)) };
}

/** An answer ends the message before it. Later parts of the service belong to another message. */
function toMessages(items: readonly (MessagePart | ApprovalAnswer)[], words: SpecWords): readonly PromptMessage[] {
  const messages: { role: "assistant" | "tool"; content: PromptPart[] }[] = [];
  for (const item of items) {
    const isPart = isMessagePart(item);
    const role = isPart ? "assistant" : "tool";
    const said = isPart ? toPromptPart(item, words) : { type: "tool-approval-response", ...item };
    if (said === undefined) continue;
    const last = messages[messages.length - 1];
    if (last?.role === role) last.content.push(said);
    else messages.push({ role, content: [said] });
  }
  return messages;
}

function toPromptPart(part: MessagePart, words: SpecWords): PromptPart | undefined {
  if (words.unknownParts.has(part.type)) return undefined;
  if (part.type !== "file" && part.type !== "reasoning-file") return part;
  const { url, data, ...rest } = part;
  const source = toFileSource({ url, data });
  return source === undefined ? undefined : { ...rest, data: words.toFileData(source) };
}

function toCallOptions({ type, toolCallId, providerOptions }: MessagePart): readonly (readonly [string, Json])[] {
  return type === "tool-call" && typeof toolCallId === "string" && providerOptions !== undefined
    ? [[toolCallId, providerOptions]]
    : [];
}

function toRecorded(parts: readonly MessagePart[]): RecordedMessage<MessagePart> {
  const text = parts.map((part) => (part.type === "text" && typeof part.text === "string" ? part.text : "")).join("");
  return { text, calls: parts.filter(({ type, providerExecuted }) => type === "tool-call" && providerExecuted !== true), isCall };
}

function isCall({ toolCallId, toolName }: MessagePart, call: ToolCallPart): boolean {
  return toolCallId === call.callId && toolName === call.name && typeof toolName === "string" && isPromptName(toolName);
}

function isMessagePart(value: unknown): value is MessagePart {
  return isRecord(value) && typeof value.type === "string";
}

function isAnswer(value: unknown): value is ApprovalAnswer {
  return isRecord(value) && typeof value.approvalId === "string" && typeof value.approved === "boolean";
}
