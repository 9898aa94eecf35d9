// A turn as the model gave it: its parts are kept as provider metadata, in order, and sent back with all that the service said of them.
// Reasoning is signed or named by an id, and what the service's own tools did is nowhere else.

import {
  type AssistantMessage,
  isRecord,
  type Json,
  type MetadataReader,
  readOwnItems,
  type RecordedTurn,
  saysTheSame,
  type ToolCallPart,
} from "../core/provider-kit.ts";
import { isPromptName, toFileSource } from "./turn-parts.ts";
import type { PromptMessage, PromptPart, SpecWords, TurnPart } from "./model-options.ts";

/** An answer to a service that asks whether it may run a tool of its own side. */
export interface ApprovalAnswer {
  readonly approvalId: string;
  readonly approved: boolean;
  readonly reason?: string;
}

/** The provider metadata of a message. */
export interface TurnRecord {
  readonly parts: readonly TurnPart[];
  /** Sources and citations, which no service wants back. */
  readonly references: readonly Json[];
  readonly answers: readonly ApprovalAnswer[];
}

/** One part of provider metadata for each, as `readMetadata` expects them. */
export function toMetadataItems({ parts, references, answers }: TurnRecord): readonly Json[] {
  return [...parts.map((part) => ({ part })), ...references, ...answers.map((answer) => ({ approval: { ...answer } }))];
}

/** The reader of a message. */
export interface TurnReader extends MetadataReader {
  readonly words: SpecWords;
}

/** A turn as it is sent, and what its calls carry for their results. */
interface MetadataContent {
  readonly messages: readonly PromptMessage[];
  readonly callOptions: ReadonlyMap<string, Json>;
}

/**
 * Reads the provider metadata of a turn. Undefined where it must be written anew: where one of them is of another service or model, for
 * signatures are not portable, and where they do not say what the neutral parts say, which have the same text and the same calls under the
 * same ids unless a call has got an id of its own, a later stream of the turn was cut off, or somebody edited the turn.
 */
export function readMetadata(turn: AssistantMessage, reader: TurnReader): MetadataContent | undefined {
  const own = readOwnItems(turn.providerMetadata, reader) ?? [];
  const items = own.flatMap(({ part, approval }): readonly (TurnPart | ApprovalAnswer)[] =>
    isTurnPart(part) ? [part] : isAnswer(approval) ? [approval] : [],
  );
  const parts = items.filter((item) => isTurnPart(item));
  if (parts.length === 0 || !saysTheSame(turn, toRecorded(parts))) return undefined;
  return { messages: toMessages(items, reader.words), callOptions: new Map(parts.flatMap(toCallOptions)) };
}

/** An answer ends what came before it: what the service says then is another message. */
function toMessages(items: readonly (TurnPart | ApprovalAnswer)[], words: SpecWords): readonly PromptMessage[] {
  const messages: { role: "assistant" | "tool"; content: PromptPart[] }[] = [];
  for (const item of items) {
    const isPart = isTurnPart(item);
    const role = isPart ? "assistant" : "tool";
    const said = isPart ? toPromptPart(item, words) : { type: "tool-approval-response", ...item };
    if (said === undefined) continue;
    const last = messages[messages.length - 1];
    if (last?.role === role) last.content.push(said);
    else messages.push({ role, content: [said] });
  }
  return messages;
}

function toPromptPart(part: TurnPart, words: SpecWords): PromptPart | undefined {
  if (words.unknownParts.has(part.type)) return undefined;
  if (part.type !== "file" && part.type !== "reasoning-file") return part;
  const { url, data, ...rest } = part;
  const source = toFileSource({ url, data });
  return source === undefined ? undefined : { ...rest, data: words.toFileData(source) };
}

function toCallOptions({ type, toolCallId, providerOptions }: TurnPart): readonly (readonly [string, Json])[] {
  return type === "tool-call" && typeof toolCallId === "string" && providerOptions !== undefined
    ? [[toolCallId, providerOptions]]
    : [];
}

function toRecorded(parts: readonly TurnPart[]): RecordedTurn<TurnPart> {
  const text = parts.map((part) => (part.type === "text" && typeof part.text === "string" ? part.text : "")).join("");
  return { text, calls: parts.filter(({ type, providerExecuted }) => type === "tool-call" && providerExecuted !== true), isCall };
}

function isCall({ toolCallId, toolName }: TurnPart, call: ToolCallPart): boolean {
  return toolCallId === call.callId && toolName === call.name && typeof toolName === "string" && isPromptName(toolName);
}

function isTurnPart(value: unknown): value is TurnPart {
  return isRecord(value) && typeof value.type === "string";
}

function isAnswer(value: unknown): value is ApprovalAnswer {
  return isRecord(value) && typeof value.approvalId === "string" && typeof value.approved === "boolean";
}
