// A turn as the model wrote it: its blocks are kept as provider metadata, in order, and sent back unchanged. Thinking is signed, and
// what the server's own tools did is nowhere else.

import {
  type AssistantMessage,
  isRecord,
  type Json,
  type MetadataReader,
  type ProviderMetadata,
  readOwnItems,
  type RecordedTurn,
  saysTheSame,
  type ToolCallPart,
} from "../core/provider-kit.ts";
import type { WireBlock, WireContainer } from "./messages-options.ts";

/** Marks the text of arguments that are no JSON object, which the wire has no other place for. */
export const invalidJsonKey = "INVALID_JSON";

/** One part of provider metadata for each block, as `readMetadata` expects them, and one for the container. */
export function toMetadataItems(blocks: readonly WireBlock[], container: WireContainer | undefined): readonly Json[] {
  const items: Json[] = blocks.map((block) => ({ content_block: block }));
  if (container !== undefined) items.push({ container: { ...container } });
  return items;
}

/** The provider metadata of a message for the service that wrote it. */
export interface MetadataContent {
  /** The turn's blocks; undefined where it must be written anew from its neutral parts. */
  readonly blocks: readonly WireBlock[] | undefined;
  readonly container: WireContainer | undefined;
}

/**
 * Reads the provider metadata of a turn. Its blocks may be sent only where all of them are of this service and model, for signatures
 * are not portable, and where they say what the neutral parts say: the same text, and the same calls under the same ids. They
 * do not where a call has got an id of its own, where a later continuation of the turn was cut off, or where somebody edited the turn.
 */
export function readMetadata(turn: AssistantMessage, reader: MetadataReader): MetadataContent {
  const { providerMetadata } = turn;
  if (providerMetadata === undefined || providerMetadata.length === 0) return { blocks: undefined, container: undefined };
  const blocks = readBlocks(providerMetadata, reader);
  const agrees = blocks !== undefined && saysTheSame(turn, toRecorded(blocks));
  return { blocks: agrees ? toSendable(blocks) : undefined, container: readContainer(providerMetadata, reader) };
}

/**
 * The service sends blank texts, between thinking and a call, and refuses to take them back. It also refuses a turn that ends in
 * thinking, as one does that was cut off behind it (github.com/tailcallhq/forgecode/issues/2107).
 */
function toSendable(blocks: readonly WireBlock[]): readonly WireBlock[] {
  const sendable = blocks.filter((block) => !isBlank(block));
  let end = sendable.length;
  while (isThinking(sendable[end - 1])) end -= 1;
  return sendable.slice(0, end);
}

function isBlank({ type, text }: WireBlock): boolean {
  return type === "text" && typeof text === "string" && text.trim() === "";
}

function isThinking(block: WireBlock | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

/** Undefined as soon as one part is not a block for this reader. */
function readBlocks(providerMetadata: ProviderMetadata, reader: MetadataReader): readonly WireBlock[] | undefined {
  const items = readOwnItems(providerMetadata, reader) ?? [];
  const blocks: WireBlock[] = [];
  for (const { content_block: block, container } of items) {
    if (isBlock(block)) blocks.push(block);
    else if (container === undefined) return undefined;
  }
  return blocks.length === 0 ? undefined : blocks;
}

/** A container belongs to the account, whatever the model. */
function readContainer(providerMetadata: ProviderMetadata, { id }: MetadataReader): WireContainer | undefined {
  let last: WireContainer | undefined;
  for (const { provider, item } of providerMetadata) {
    if (provider === id && isRecord(item)) last = toContainer(item.container) ?? last;
  }
  return last;
}

/** Reads a container of the wire, and no more of it than is needed to name it. */
export function toContainer(value: unknown): WireContainer | undefined {
  if (!isRecord(value) || typeof value.id !== "string" || value.id === "") return undefined;
  const { id, expires_at: expiresAt } = value;
  return typeof expiresAt === "string" ? { id, expires_at: expiresAt } : { id };
}

function isBlock(value: unknown): value is WireBlock {
  return isRecord(value) && typeof value.type === "string";
}

function toRecorded(blocks: readonly WireBlock[]): RecordedTurn<WireBlock> {
  const text = blocks.map((block) => (block.type === "text" && typeof block.text === "string" ? block.text : "")).join("");
  return { text, calls: blocks.filter(({ type }) => type === "tool_use"), isCall };
}

/** The name and the id of a call in the form that the service accepts. */
const wireName = /^[\w-]{1,128}$/;

function isCall({ id, name }: WireBlock, call: ToolCallPart): boolean {
  return (
    id === call.callId &&
    name === call.name &&
    wireName.test(call.callId) &&
    wireName.test(call.name) &&
    toWireId(call.callId) === id
  );
}

/**
 * Writes the characters of an id that this service refuses as their numbers. What already looks like such a number is written so
 * too, so that two ids never become one. Ids of the service itself stay as they are.
 */
export function toWireId(callId: string): string {
  return callId.replace(/[^\w-]|_(?=x[\da-f]+(?:_|[^\w-]))/gu, (character) => `_x${character.codePointAt(0)?.toString(16)}_`);
}

/**
 * The blocks of a turn that something follows. A call of the server's own tools that was still open when the turn was paused is
 * completed in a later response, and must not stay where none came. Where the turn also calls the run's own tools, it is
 * completed after their results.
 */
export function closeTurn(blocks: readonly WireBlock[]): readonly WireBlock[] {
  if (blocks.some(({ type }) => type === "tool_use")) return blocks;
  const answered = new Set(blocks.map((block) => block.tool_use_id));
  const closed = blocks.filter(({ type, id }) => !type.endsWith("_tool_use") || answered.has(id));
  return closed.length === blocks.length ? blocks : closed;
}
