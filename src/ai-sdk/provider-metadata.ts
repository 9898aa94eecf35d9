// Keeps an assistant message's parts as provider metadata and sends them back, because only they contain reasoning signatures, ids and the
// results of tools that the service ran.

import type { AssistantMessage, Json } from "../core/index.ts";
import { isRecord, type ToolCallPart } from "../core/kit.ts";
import { type MetadataReader, readOwnItems, type RecordedMessage, saysTheSame } from "../shared/adapters/sdk-provider.ts";
import type { FileSource, PromptMessage, PromptPart, SpecWords, MessagePart } from "./model-options.ts";

export interface ApprovalAnswer {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string;
}

export interface MessageRecord {
  readonly parts: readonly MessagePart[];
  /** Sources and citations, which are kept but never sent back. */
  readonly references: readonly Json[];
  readonly answers: readonly ApprovalAnswer[];
}

export function toMetadataItems({ parts, references, answers }: MessageRecord): readonly Json[] {
  return [...parts.map((part) => ({ part })), ...references, ...answers.map((answer) => ({ approval: { ...answer } }))];
}

export interface OwnMessageReader extends MetadataReader {
  readonly words: SpecWords;
}

interface MetadataContent {
  readonly messages: readonly PromptMessage[];
  readonly callOptions: ReadonlyMap<string, Json>;
}

/**
 * Reads a message's original parts from its provider metadata. Returns undefined if the message must be rebuilt from its text and calls.
 *
 * All parts must come from this service and model, because a signature is valid only for the model that created it. The parts must also
 * have the same text and calls as the message. Text or calls differ if the message was edited, if a call was given a different id, or if a
 * continuation was cut off.
 */
export function readMetadata(message: AssistantMessage, reader: OwnMessageReader): MetadataContent | undefined {
  const own = readOwnItems(message.providerMetadata, reader) ?? [];
  const items = own.flatMap(({ part, approval }): readonly (MessagePart | ApprovalAnswer)[] =>
    isMessagePart(part) ? [part] : isAnswer(approval) ? [approval] : [],
  );
  const parts = items.filter((item) => isMessagePart(item));
  if (parts.length === 0 || !saysTheSame(message, toRecorded(parts))) return undefined;
  return { messages: toMessages(items, reader.words), callOptions: new Map(parts.flatMap(toCallOptions)) };
}

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
  const source = toFileSource(url, data);
  return source === undefined ? undefined : { ...rest, data: words.toFileData(source) };
}

function toFileSource(url: unknown, data: unknown): FileSource | undefined {
  if (typeof data === "string") return { kind: "base64", data };
  if (typeof url !== "string" || !URL.canParse(url)) return undefined;
  return { kind: "url", text: url, url: new URL(url) };
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

const wireName = /^[\w-]{1,64}$/;

function isCall({ toolCallId, toolName }: MessagePart, call: ToolCallPart): boolean {
  return toolCallId === call.callId && toolName === call.name && typeof toolName === "string" && wireName.test(toolName);
}

function isMessagePart(value: unknown): value is MessagePart {
  return isRecord(value) && typeof value.type === "string";
}

function isAnswer(value: unknown): value is ApprovalAnswer {
  return isRecord(value) && typeof value.approvalId === "string" && typeof value.approved === "boolean";
}
