import {
  addMetadata,
  type FieldReader,
  type HistoryDraft,
  type PieceWriter,
  toMediaPart,
  toReadResult,
  toTextParts,
} from "../shared/history/read-history.ts";
import { omitFields, type Piece } from "../shared/history/find-lost.ts";
import { type AssistantPart, isRecord, listOf } from "../core/kit.ts";
import type { ProviderMetadata } from "../core/types/message.ts";
import type { ContentPart, Json } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { readFileName } from "./wire-values.ts";
import { type HistoryOwner, toArgs } from "./read-chat-history.ts";
import { createInputConverter } from "./responses-body.ts";
import { isCallType } from "./responses-calls.ts";
import { toResponsesMetadata } from "./responses-metadata.ts";
import { kindOf, wordsOf } from "./responses-texts.ts";

/** Reads items into a draft. Consecutive items from the model become one assistant message. `items` begins after the leading system messages. */
export function readResponsesItems(items: readonly FieldReader[], draft: HistoryDraft, owner: HistoryOwner): void {
  let group: FieldReader[] = [];
  const close = (): void => {
    if (group.length > 0) addGroup(group, draft, owner);
    group = [];
  };
  for (const item of items) {
    const isOwn = isFromModel(item);
    if (!isOwn || beginsMessage(item, group, owner)) close();
    if (isOwn) group.push(item);
    else addInput(item, draft);
  }
  close();
}

const results: ReadonlySet<unknown> = new Set(["function_call_output", "custom_tool_call_output"]);

/** True for items that come from the model, and for items of unknown types, which only the service can read. */
function isFromModel(item: FieldReader): boolean {
  const { role, type } = item.fields;
  if (role === "user" || role === "system" || role === "developer" || results.has(type)) return false;
  if (role !== undefined && role !== "assistant") throw item.wrong("role", '"user", "assistant", "system" or "developer"');
  if (role === undefined) item.filled("type");
  return type !== "item_reference";
}

function addInput(item: FieldReader, draft: HistoryDraft): void {
  const { role, type } = item.fields;
  const piece = { ...item.piece, value: normalizeItem(item.fields) };
  if (type === "item_reference") draft.omit(piece);
  else if (results.has(type))
    draft.addResult({ callId: item.filled("call_id"), outcome: "completed", ...toReadResult(readOutput(item)) }, piece);
  else draft.add({ role: "user", content: readContent(item), ...(role === "user" ? {} : { pinned: true }) }, [piece]);
}

/**
 * True if the item begins a new assistant message. Items whose content is a list of parts come from the service and, if the model is known,
 * stay in one message. An item after a call also stays in the message of the call, because no message may separate the call from its
 * result.
 */
function beginsMessage({ fields }: FieldReader, group: readonly FieldReader[], { model }: HistoryOwner): boolean {
  if (fields.role !== "assistant" || group.some((item) => isCallType(item.fields.type))) return false;
  return (model === undefined || typeof fields.content === "string") && group.some((item) => item.fields.role === "assistant");
}

function addGroup(group: readonly FieldReader[], draft: HistoryDraft, owner: HistoryOwner): void {
  const { id, model, store } = owner;
  const pieces = group.map((item): Piece => ({ ...item.piece, value: normalizeItem(item.fields) }));
  const text = group.filter(({ fields }) => fields.role === "assistant").map(textOfMessage);
  const content = [
    ...toPart(
      "reasoning",
      group.flatMap(({ fields }) => readThoughts(fields)),
    ),
    ...toPart(
      "text",
      text.filter((words) => words !== ""),
    ),
    ...group.flatMap(readItemCall),
  ];
  const items = model === undefined ? [] : toResponsesMetadata(group.map(toOutputItem), store);
  const metadata: ProviderMetadata = items.map((item) => ({ provider: id, model: model ?? "", item }));
  draft.add(addMetadata({ role: "assistant", content }, metadata, { pieces, write: createItemWriter(owner) }), pieces);
}

function toPart(type: "text" | "reasoning", texts: readonly string[]): readonly AssistantPart[] {
  return texts.length === 0 ? [] : [{ type, text: texts.join("\n\n") }];
}

function textOfMessage(item: FieldReader): string {
  const { content } = item.fields;
  if (typeof content === "string") return content;
  return item
    .records("content")
    .map(({ fields }) => (kindOf(fields.type) === undefined ? "" : wordsOf(fields)))
    .join("");
}

function readThoughts({ type, summary, content }: UnknownRecord): readonly string[] {
  if (type !== "reasoning") return [];
  return [...listOf(summary), ...listOf(content)].flatMap((part) =>
    isRecord(part) && kindOf(part.type) !== undefined ? [wordsOf(part)] : [],
  );
}

function readItemCall(item: FieldReader): readonly AssistantPart[] {
  const { type } = item.fields;
  if (!isCallType(type)) return [];
  const call = { type: "tool-call", callId: item.filled("call_id"), name: item.filled("name") } as const;
  return [{ ...call, args: type === "function_call" ? toArgs(item.text("arguments")) : { input: item.text("input") } }];
}

/** Writes messages in the service's own form, because `readResponsesMetadata` accepts only that form. */
function toOutputItem({ fields }: FieldReader): Json {
  if (fields.role !== "assistant") return fields as Json;
  const { content, ...rest } = fields;
  const parts = typeof content === "string" ? [{ type: "output_text", text: content, annotations: [] }] : content;
  return { type: "message", ...rest, content: parts } as Json;
}

export function createItemWriter({ id, model = "", store }: HistoryOwner): PieceWriter {
  const toInput = createInputConverter({ id, model, store, customTools: new Map(), toolResultMedia: "tool-message" });
  return (messages) => toInput(messages).map(normalizeItem);
}

export function readContent(item: FieldReader): string | readonly ContentPart[] {
  const { content } = item.fields;
  return typeof content === "string" ? content : item.records("content").flatMap(readInputPart);
}

function readOutput(item: FieldReader): readonly ContentPart[] {
  const { output } = item.fields;
  return typeof output === "string" ? toTextParts(output) : item.records("output").flatMap(readInputPart);
}

function readInputPart(part: FieldReader): readonly ContentPart[] {
  const { image_url: image, file_data: data, file_url: url, filename } = part.fields;
  switch (part.filled("type")) {
    case "input_text":
    case "output_text":
      return [{ type: "text", text: part.text("text") }];
    case "input_image":
      return image === undefined || image === null ? [] : [toMediaPart(part.filled("image_url"), "image/*")];
    case "input_file":
      if (data !== undefined && data !== null)
        return [toMediaPart(part.base64("file_data"), "application/octet-stream", readFileName(filename))];
      return url === undefined || url === null ? [] : [toMediaPart(part.filled("file_url"), "application/octet-stream")];
    default:
      return [];
  }
}

/** Prepares an item for the comparison that finds lost content. Removes ids, states, and insignificant differences in form. */
function normalizeItem(item: UnknownRecord): Json {
  const { id: _id, status: _status, created_by: _by, type, content, output, summary, ...rest } = item;
  const isMessage = typeof item.role === "string";
  return withoutDefaults({
    ...rest,
    ...(isMessage && type === "message" ? {} : { type }),
    content: toNormalParts(content, item.role === "assistant" ? "output_text" : "input_text"),
    output: toNormalParts(output, "input_text"),
    summary: listOf(summary).length === 0 ? undefined : summary,
  });
}

function toNormalParts(content: unknown, type: string): unknown {
  if (typeof content === "string") return content === "" ? [] : [{ type, text: content }];
  return Array.isArray(content) ? content.map((part: unknown) => (isRecord(part) ? withoutDefaults(part) : part)) : content;
}

const withoutDefaults = (fields: object): Json => omitFields(fields, isDefault);

function isDefault(name: string, value: unknown): boolean {
  if (value === undefined || value === null) return true;
  if (name === "annotations" || name === "logprobs") return Array.isArray(value) && value.length === 0;
  return name === "detail" && value === "auto";
}
