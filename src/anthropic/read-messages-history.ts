import {
  addMetadata,
  FieldReader,
  type HistoryDraft,
  type Piece,
  type PieceWriter,
  toMediaPart,
  toReadResult,
} from "../core/history-kit.ts";
import {
  type AssistantPart,
  type ContentPart,
  copyFields,
  encodeBase64,
  type Json,
  listOf,
  type MetadataReader,
  type ProviderMetadata,
  recordOf,
  type UnknownRecord,
} from "../core/provider-kit.ts";
import { createMessageConverter } from "./messages-body.ts";

/** Without an `owner`, content that only one model accepts, such as signatures of thinking, is not kept. */
export function readAnthropicMessages(
  messages: readonly FieldReader[],
  draft: HistoryDraft,
  owner: MetadataReader | undefined,
): void {
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
  return content === "" ? [] : [new FieldReader({ type: "text", text: content }, message.piece.index, "content")];
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
  const parts = typeof content === "string" ? toTexts(content) : block.records("content").flatMap(readPart);
  return { callId: block.filled("tool_use_id"), outcome: isError === true ? "failed" : "completed", ...toReadResult(parts) };
}

function toTexts(text: string): readonly ContentPart[] {
  return text === "" ? [] : [{ type: "text", text }];
}

function readPart(block: FieldReader): readonly ContentPart[] {
  switch (block.filled("type")) {
    case "text":
      return toTexts(block.text("text"));
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
      return block.text("text") === "" ? [] : [{ type: "text", text: block.text("text") }];
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

export function createBlockWriter(owner: MetadataReader | undefined): PieceWriter {
  const convert = createMessageConverter(owner ?? { id: "", model: "" });
  return (messages) => messages.flatMap((message) => convert(message).wire.content.map(normalizeBlock));
}

/** Prepares a block for the comparison that finds lost content. Removes differences of form that have no meaning. */
function normalizeBlock(block: UnknownRecord): Json {
  if (block.type !== "tool_result") return withoutDefaults(block);
  const { content, ...rest } = block;
  const parts = typeof content === "string" ? toTexts(content) : listOf(content);
  return withoutDefaults({ ...rest, content: parts.map((part) => withoutDefaults(recordOf(part))) });
}

function withoutDefaults(fields: object): Json {
  return Object.fromEntries(Object.entries(fields).filter(([name, value]) => !isDefault(name, value)));
}

function isDefault(name: string, value: unknown): boolean {
  if (value === undefined || value === null || (name === "is_error" && value === false)) return true;
  return (name === "content" || name === "citations") && Array.isArray(value) && value.length === 0;
}
