import { checkMessages } from "../shared/transcript.ts";
import {
  addMetadata,
  copyHistory,
  FieldReader,
  HistoryDraft,
  type HistoryProvider,
  historyProviderCheck,
  type PieceWriter,
  readEach,
  type ReadHistory,
  toMediaPart,
  toReadResult,
  toTextParts,
} from "../shared/history/read-history.ts";
import { findLostMessages, keepFitting, type LostContent, omitFields, type Piece } from "../shared/history/find-lost.ts";
import { type AssistantPart, checkFields, type Checks, is, isRecord, listOf, recordOf } from "../core/kit.ts";
import type { ProviderMetadata } from "../core/types/message.ts";
import type { ContentPart, Json, Message } from "../core/index.ts";
import { toWellFormed } from "../shared/adapters/well-formed.ts";
import { copyFields } from "../shared/plain-error.ts";
import { encodeBase64 } from "../shared/media-source.ts";
import type { MetadataReader } from "../shared/adapters/sdk-provider.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { blockMedia, createMessageConverter, joinMessages } from "./messages-body.ts";
import { type Accepted, removeRefusedBlocks } from "./refused-blocks.ts";
import { readMetadata } from "./provider-metadata.ts";

/** Reads messages into a draft. Omits content that only one model accepts, such as thinking signatures, unless there is an `owner`. */
function readAnthropicMessages(messages: readonly FieldReader[], draft: HistoryDraft, owner: MetadataReader | undefined): void {
  for (const message of messages) {
    const blocks = readGivenBlocks(message);
    const role = message.text("role");
    if (role === "user") addUser(blocks, draft);
    else if (role === "assistant") addAssistant(blocks, draft, owner);
    else if (role === "system") draft.add({ role: "user", content: blocks.flatMap(readPart), pinned: true }, [message.piece]);
    else throw message.wrong("role", '"user" or "assistant"');
  }
}

function readGivenBlocks(message: FieldReader): readonly FieldReader[] {
  const { content } = message.fields;
  if (typeof content !== "string") return message.records("content");
  return toTextParts(content).map((part) => new FieldReader(part, message.piece.index, "content"));
}

function addUser(blocks: readonly FieldReader[], draft: HistoryDraft): void {
  const rest: FieldReader[] = [];
  for (const block of blocks) {
    if (block.fields.type !== "tool_result") {
      rest.push(block);
      continue;
    }
    const { index, field } = block.piece;
    draft.addResult(readResult(block), toPiece(block));
    if (rest.length > 0) draft.note({ index, field, reason: "changed" });
  }
  if (rest.length > 0) draft.add({ role: "user", content: joinUser(rest.flatMap(readPart)) }, rest.map(toPiece));
}

function joinUser(parts: readonly ContentPart[]): string | readonly ContentPart[] {
  const [first] = parts;
  return parts.length === 1 && first?.type === "text" ? first.text : parts;
}

function readResult(block: FieldReader): Parameters<HistoryDraft["addResult"]>[0] {
  const { is_error: isError, content } = block.fields;
  const parts = typeof content === "string" ? toTextParts(content) : block.records("content").flatMap(readPart);
  return { callId: block.filled("tool_use_id"), outcome: isError === true ? "failed" : "completed", ...toReadResult(parts) };
}

function readPart(block: FieldReader): readonly ContentPart[] {
  switch (block.filled("type")) {
    case "text":
      return toTextParts(block.text("text"));
    case "image":
      return readSource(block.record("source"), "image/*");
    case "document":
      return readSource(block.record("source"), "application/pdf", block.fields.title);
    default:
      return [];
  }
}

function readSource(source: FieldReader, mediaType: string, title?: unknown): readonly ContentPart[] {
  switch (source.filled("type")) {
    case "base64":
      return [toMediaPart(source.base64("data"), source.filled("media_type"), title)];
    case "url":
      return [toMediaPart(source.filled("url"), mediaType, title)];
    case "text":
      return [toMediaPart(encodeBase64(new TextEncoder().encode(source.filled("data"))), "text/plain", title)];
    default:
      return [];
  }
}

function addAssistant(blocks: readonly FieldReader[], draft: HistoryDraft, owner: MetadataReader | undefined): void {
  const pieces = blocks.map(toPiece);
  const items =
    owner === undefined
      ? []
      : blocks.map(({ fields }) => ({ content_block: copyFields({ ...fields, cache_control: undefined }) }));
  const metadata: ProviderMetadata = items.map((item) => ({ provider: owner?.id ?? "", model: owner?.model ?? "", item }));
  const message = { role: "assistant", content: blocks.flatMap(readAssistantPart) } as const;
  draft.add(addMetadata(message, metadata, { pieces, write: createBlockWriter(owner) }), pieces);
}

function readAssistantPart(block: FieldReader): readonly AssistantPart[] {
  switch (block.filled("type")) {
    case "text":
      return toTextParts(block.text("text"));
    case "thinking":
      return block.text("thinking") === "" ? [] : [{ type: "reasoning", text: block.text("thinking") }];
    case "tool_use": {
      const args = block.fields.input;
      if (args === undefined) throw block.wrong("input", "an object");
      return [{ type: "tool-call", callId: block.filled("id"), name: block.filled("name"), args: args as Json }];
    }
    default:
      return [];
  }
}

function toPiece(block: FieldReader): Piece {
  return { ...block.piece, value: normalizeBlock(block.fields) };
}

function createBlockWriter(owner: MetadataReader | undefined): PieceWriter {
  const convert = createMessageConverter(owner ?? { id: "", model: "" });
  return (messages) => messages.flatMap((message) => convert(message).wire.content.map(normalizeBlock));
}

/** Prepares a block for the comparison that finds lost content: removes meaningless differences in form. */
function normalizeBlock(block: UnknownRecord): Json {
  if (block.type !== "tool_result") return withoutDefaults(block);
  const { content, ...rest } = block;
  const parts = typeof content === "string" ? toTextParts(content) : listOf(content);
  return withoutDefaults({ ...rest, content: parts.map((part) => withoutDefaults(recordOf(part))) });
}

const withoutDefaults = (fields: object): Json => omitFields(fields, isDefault);

function isDefault(name: string, value: unknown): boolean {
  if (value === undefined || value === null || (name === "is_error" && value === false)) return true;
  return (name === "content" || name === "citations") && Array.isArray(value) && value.length === 0;
}

/** The options for `toAnthropicMessages`. */
export interface ToAnthropicOptions {
  /**
   * The provider whose model wrote the history: the provider itself, or its `id` and `model`. Content that only this model accepts,
   * such as thinking with its signature, is kept. Default: no provider; content of this kind is omitted and listed in `lost`.
   */
  readonly provider?: HistoryProvider | undefined;
  /** The system text. It is returned unchanged. Default none. */
  readonly system?: string | undefined;
}

/** The options for `fromAnthropicMessages`. */
export interface FromAnthropicOptions extends Omit<ToAnthropicOptions, "system"> {
  /**
   * The request's `system` field: a string, or text blocks. In `lost`, the entries about `system` have the field "system" and
   * the index 0.
   */
  readonly system?: string | readonly object[] | undefined;
}

/** A message in the Messages API's format. It can be assigned to `MessageParam` from `@anthropic-ai/sdk`. */
export interface AnthropicMessage {
  role: "user" | "assistant";
  content: AnthropicBlock[];
}

/** A content block of the Messages API. Blocks that the service created, which are sent back unchanged, may have other types. */
export type AnthropicBlock =
  | AnthropicContent
  | { type: "tool_use"; id: string; name: string; input: unknown }
  | { type: "tool_result"; tool_use_id: string; content?: string | AnthropicContent[]; is_error?: boolean };

/** A text, image or document block of the Messages API. */
export type AnthropicContent =
  | { type: "text"; text: string }
  | {
      type: "image";
      source:
        | { type: "url"; url: string }
        | { type: "base64"; media_type: "image/jpeg" | "image/png" | "image/gif" | "image/webp"; data: string };
    }
  | {
      type: "document";
      source:
        | { type: "url"; url: string }
        | { type: "base64"; media_type: "application/pdf"; data: string }
        | { type: "text"; media_type: "text/plain"; data: string };
    };

/** A transcript in Anthropic's format. */
export interface AnthropicHistory<Item> {
  readonly messages: Item[];
  /** The unchanged value of the `system` option. */
  readonly system?: string | undefined;
  /** Content that this format cannot express. Empty if `fromAnthropicMessages` can restore the transcript. */
  readonly lost: readonly LostContent[];
}

const checks: Checks<Omit<ToAnthropicOptions, "system">> = { provider: historyProviderCheck };

/**
 * Converts messages from Anthropic's Messages API to a transcript. A call without a result gets a `not-run` result, and a result
 * without a call is omitted. Cache marks are omitted because the provider's `cache` option sets new ones.
 *
 * Throws LoopError "invalid-messages" if a field has a wrong type. The error message names the path of the field. Throws
 * "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const { messages, system, lost } = fromAnthropicMessages(saved.messages, { system: saved.system, provider });
 */
export function fromAnthropicMessages(messages: readonly object[], options: FromAnthropicOptions = {}): ReadHistory {
  checkFields("options", options, { ...checks, system: ["a string or an array of text blocks", isSystem] });
  const owner = options.provider;
  const draft = new HistoryDraft();
  const system = readSystem(options.system, draft);
  readAnthropicMessages(readEach(copyHistory(messages)), draft, owner);
  return draft.finish(createBlockWriter(owner), system);
}

function isSystem(value: unknown): boolean {
  return typeof value === "string" || (Array.isArray(value) && value.every(isTextBlock));
}

function isTextBlock(value: unknown): value is { readonly text: string } {
  return isRecord(value) && value.type === "text" && typeof value.text === "string";
}

function readSystem(system: FromAnthropicOptions["system"], draft: HistoryDraft): string {
  if (system === undefined || typeof system === "string") return system ?? "";
  const isPlain = system.every((block) => Object.keys(block).every((name) => name === "type" || name === "text"));
  if (system.length > 1 || !isPlain) draft.note({ index: 0, field: "system", reason: "changed" });
  return system.map((block) => (isTextBlock(block) ? block.text : "")).join("\n\n");
}

/**
 * Converts a transcript to messages for Anthropic's Messages API: the same messages that `anthropicMessages` would send. If a transcript
 * begins with an assistant message, a user message is added before it, because the API requires one.
 *
 * User images and files that the API does not support are omitted. Throws LoopError "invalid-messages" if the transcript is
 * invalid, and "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const { messages, lost } = toAnthropicMessages(result.messages, { provider });
 * await client.messages.create({ model: "claude-opus-4-6", max_tokens: 1_000, messages });
 */
export function toAnthropicMessages<Item extends object = AnthropicMessage>(
  messages: readonly Message[],
  options: ToAnthropicOptions = {},
): AnthropicHistory<Item> {
  checkFields("options", options, { ...checks, system: is.text });
  const owner = options.provider;
  const convert = createMessageConverter(owner ?? { id: "", model: "" });
  const checked = messages.length === 0 ? [] : checkMessages(messages).messages;
  const keep = (all: readonly Message[]): readonly Message[] => keepFitting(all, blockMedia);
  const lost = findLostMessages(checked, {
    joins: ["user", "assistant"],
    write: (unit) => keep(unit).map((message) => convert(message).wire),
    read: (wire) => readUnit(wire, owner),
    keepsMetadata: (message) => owner !== undefined && readMetadata(message, owner) !== undefined,
  });
  const kept = toWellFormed(keep(checked));
  const wire = kept.map((message) => convert(message).wire);
  const written = joinMessages(removeRefusedBlocks(kept, wire, acceptsAll)).map(({ message }) => message) as object[] as Item[];
  const opening = checked[0]?.role === "assistant" ? [{ index: 0, field: "", reason: "added" as const }] : [];
  const { system } = options;
  return { messages: written, ...(system === undefined ? {} : { system: toWellFormed(system) }), lost: [...opening, ...lost] };
}

/** Accepts every block, because the tools and betas of the next request are not known yet. */
const acceptsAll: Accepted = { declares: () => true, hasTool: () => true, takes: () => true };

function readUnit(wire: readonly object[], owner: HistoryProvider | undefined): readonly Message[] {
  const draft = new HistoryDraft();
  readAnthropicMessages(readEach(wire), draft, owner);
  return draft.finish(undefined).messages;
}
