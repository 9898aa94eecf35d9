// Keeps an assistant message's blocks as provider metadata and sends them back unchanged, because only they contain thinking signatures and
// the results of server tools.

import type { AssistantMessage, Json, Message, ModelRequest } from "../core/index.ts";
import { idRules, toWireId } from "../shared/adapters/wire-names.ts";
import { isRecord, type ToolCallPart } from "../core/kit.ts";
import type { ProviderMetadata } from "../core/types/message.ts";
import { type MetadataReader, readOwnItems, type RecordedMessage, saysTheSame } from "../shared/adapters/sdk-provider.ts";
import type { WireBlock, WireContainer } from "./messages-options.ts";

/** The key under which arguments that are not an object are sent, because the API accepts only objects. */
export const invalidJsonKey = "INVALID_JSON";

export function toMetadataItems(blocks: readonly WireBlock[], container: WireContainer | undefined): readonly Json[] {
  const items: Json[] = blocks.map((block) => ({ content_block: block }));
  if (container !== undefined) items.push({ container: { ...container } });
  return items;
}

/**
 * Returns the blocks to send back, or undefined if the message must be rebuilt from its text and calls.
 *
 * All blocks must come from this service and model, because a signature is valid only for the model that created it. The blocks must also
 * have the same text and calls as the message. Text or calls differ if the message was edited, if a call was given a different id, or if a
 * continuation was cut off.
 */
export function readMetadata(message: AssistantMessage, reader: MetadataReader): readonly WireBlock[] | undefined {
  const blocks = readBlocks(message.providerMetadata, reader);
  return blocks !== undefined && saysTheSame(message, toRecorded(blocks)) ? toSendable(blocks) : undefined;
}

/**
 * Omits blank text blocks, which the service sends between thinking and a call but rejects in a request. Also omits documents, which the
 * service accepts only in results (platform.claude.com/docs/en/api/migration-2026-10-21).
 */
function toSendable(blocks: readonly WireBlock[]): readonly WireBlock[] {
  return trimThinking(blocks.filter((block) => !isBlank(block) && block.type !== "document"));
}

/** Omits thinking at the end of a cut-off message, because the service rejects it there (github.com/tailcallhq/forgecode/issues/2107). */
export function trimThinking(blocks: readonly WireBlock[]): readonly WireBlock[] {
  let end = blocks.length;
  while (isThinkingBlock(blocks[end - 1])) end -= 1;
  return blocks.slice(0, end);
}

function isBlank({ type, text }: WireBlock): boolean {
  return type === "text" && typeof text === "string" && text.trim() === "";
}

export function isThinkingBlock(block: WireBlock | undefined): boolean {
  return block?.type === "thinking" || block?.type === "redacted_thinking";
}

function readBlocks(providerMetadata: ProviderMetadata | undefined, reader: MetadataReader): readonly WireBlock[] | undefined {
  const items = readOwnItems(providerMetadata, reader) ?? [];
  const blocks: WireBlock[] = [];
  for (const { content_block: block, container } of items) {
    if (isBlock(block)) blocks.push(block);
    else if (container === undefined) return undefined;
  }
  return blocks.length === 0 ? undefined : blocks;
}

/**
 * Returns the conversation's newest container, unless it has expired. Keeps skills in `extra.container`. The whole
 * transcript is searched, because a compaction may remove the message with the container from `messages`.
 */
export function toContainerField(
  { messages, transcript, settings }: ModelRequest,
  { id, now }: { readonly id: string; readonly now: number },
): { readonly container?: Json } {
  const extra = settings?.extra?.container;
  if (extra !== undefined && !(isRecord(extra) && extra.id === undefined)) return {};
  const container = lastContainer(transcript?.messages ?? messages, id);
  if (container === undefined || Date.parse(container.expires_at ?? "") <= now) return {};
  return { container: extra === undefined ? container.id : { ...extra, id: container.id } };
}

function lastContainer(messages: readonly Message[], id: string): WireContainer | undefined {
  for (let position = messages.length - 1; position >= 0; position -= 1) {
    const message = messages[position];
    const container = message?.role === "assistant" ? readContainer(message.providerMetadata ?? [], id) : undefined;
    if (container !== undefined) return container;
  }
  return undefined;
}

/** Returns the newest container in a message. The model is not compared, because containers belong to accounts, not to models. */
export function readContainer(providerMetadata: ProviderMetadata, id: string): WireContainer | undefined {
  let last: WireContainer | undefined;
  for (const { provider, item } of providerMetadata) {
    if (provider === id && isRecord(item)) last = toContainer(item.container) ?? last;
  }
  return last;
}

export function toContainer(value: unknown): WireContainer | undefined {
  if (!isRecord(value) || typeof value.id !== "string" || value.id === "") return undefined;
  const { id, expires_at: expiresAt } = value;
  return typeof expiresAt === "string" ? { id, expires_at: expiresAt } : { id };
}

function isBlock(value: unknown): value is WireBlock {
  return isRecord(value) && typeof value.type === "string";
}

function toRecorded(blocks: readonly WireBlock[]): RecordedMessage<WireBlock> {
  const text = blocks.map((block) => (block.type === "text" && typeof block.text === "string" ? block.text : "")).join("");
  return { text, calls: blocks.filter(({ type }) => type === "tool_use"), isCall };
}

/** The tool names that the service accepts. */
const wireName = /^[\w-]{1,128}$/;

function isCall({ id, name }: WireBlock, call: ToolCallPart): boolean {
  return id === call.callId && name === call.name && wireName.test(call.name) && toWireId(call.callId, idRules.anthropic) === id;
}
