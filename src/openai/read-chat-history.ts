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
import { type AssistantPart, isRecord, listOf, recordOf, textOf } from "../core/kit.ts";
import type { ProviderMetadata } from "../core/types/message.ts";
import { type ContentPart, type Json, parseToolArguments } from "../core/index.ts";
import { copyFields } from "../shared/plain-error.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { readFileName } from "./wire-values.ts";
import { createMessageConverter } from "./chat-body.ts";
import { ReasoningDetails } from "./chat-metadata.ts";

/** The provider whose model wrote the history. */
export interface HistoryOwner {
  readonly id: string;
  /** The provider's model. Undefined if the caller named no provider. Nothing then becomes provider metadata. */
  readonly model: string | undefined;
  readonly store: boolean;
}

/** Reads messages into a draft. `messages` begins after the leading system messages. */
export function readChatMessages(messages: readonly FieldReader[], draft: HistoryDraft, owner: HistoryOwner): void {
  // The latest call id for each function. A deprecated `function_call` has no id, so its result names only the function.
  const functions = new Map<string, string>();
  for (const message of messages) {
    const { piece } = message;
    const normal = { ...piece, value: normalizeChat(message.fields) };
    const role = message.text("role");
    if (role === "user") draft.add({ role, content: readUserContent(message) }, [normal]);
    else if (role === "system" || role === "developer")
      draft.add({ role: "user", content: readUserContent(message), pinned: true }, [normal]);
    else if (role === "assistant") addAssistant(message, normal, { draft, owner, functions });
    else if (role === "tool") draft.addResult(readResult(message, message.filled("tool_call_id")), normal);
    else if (role === "function") draft.addResult(readResult(message, functions.get(message.text("name")) ?? ""), normal);
    else throw message.wrong("role", "a role of the Chat Completions API");
  }
}

interface Target {
  readonly draft: HistoryDraft;
  readonly owner: HistoryOwner;
  readonly functions: Map<string, string>;
}

function addAssistant(message: FieldReader, piece: Piece, { draft, owner, functions }: Target): void {
  const { id, model } = owner;
  const content = [...readChatReasoning(message), ...readTexts(message), ...readChatCalls(message)];
  const legacy = message.fields.function_call;
  if (isRecord(legacy)) {
    const call = message.record("function_call");
    const callId = `call-${piece.index}`;
    functions.set(call.filled("name"), callId);
    content.push({ type: "tool-call", callId, name: call.filled("name"), args: toArgs(call.text("arguments")) });
  }
  const items = model === undefined ? [] : readKeptItems(message);
  const metadata: ProviderMetadata = items.map((item) => ({ provider: id, model: model ?? "", item }));
  const write = createChatWriter(owner);
  draft.add(addMetadata({ role: "assistant", content }, metadata, { pieces: [piece], write }), [piece]);
}

export function createChatWriter({ id, model = "" }: HistoryOwner): PieceWriter {
  const settings = {
    id,
    model,
    echoReasoning: undefined,
    toolResultMedia: "tool-message",
    toWireCallId: (callId: string) => callId,
  };
  const convert = createMessageConverter({ ...settings, toolResultMedia: "tool-message" });
  return (messages) => messages.flatMap((message) => convert(message).map((wire) => normalizeChat({ ...wire })));
}

function readUserContent(message: FieldReader): string | readonly ContentPart[] {
  const { content } = message.fields;
  return typeof content === "string" ? content : readParts(message);
}

export function readParts(message: FieldReader): readonly ContentPart[] {
  const { content } = message.fields;
  if (typeof content === "string") return toTextParts(content);
  return message.records("content").flatMap(readChatPart);
}

function readChatPart(part: FieldReader): readonly ContentPart[] {
  switch (part.text("type")) {
    case "text":
      return [{ type: "text", text: part.text("text") }];
    case "image_url":
      return [toMediaPart(part.record("image_url").filled("url"), "image/*")];
    case "input_audio":
      return [readAudio(part.record("input_audio"))];
    case "file":
      return readFile(part.record("file"));
    default:
      return [];
  }
}

function readFile(file: FieldReader): readonly ContentPart[] {
  const { file_data: data, filename } = file.fields;
  return data === undefined ? [] : [toMediaPart(file.base64("file_data"), "application/pdf", readFileName(filename))];
}

function readAudio(audio: FieldReader): ContentPart {
  const format = audio.filled("format");
  return { type: "file", mediaType: format === "mp3" ? "audio/mpeg" : `audio/${format}`, data: audio.base64("data") };
}

/** Reads the fields in which servers other than OpenAI's send reasoning. */
function readChatReasoning({ fields }: FieldReader): readonly AssistantPart[] {
  const { reasoning_content: content, reasoning, reasoning_details: details } = fields;
  const text = textOf(content) || textOf(reasoning) || new ReasoningDetails().add(listOf(details));
  return text === "" ? [] : [{ type: "reasoning", text }];
}

function readTexts(message: FieldReader): readonly AssistantPart[] {
  const { content } = message.fields;
  const parts = typeof content === "string" ? [] : message.records("content");
  const texts =
    typeof content === "string" ? [content] : parts.map((part) => textOf(part.fields.text) + textOf(part.fields.refusal));
  const text = texts.join("") + message.optionalText("refusal");
  return toTextParts(text);
}

function readChatCalls(message: FieldReader): readonly AssistantPart[] {
  return message.records("tool_calls").flatMap((call): readonly AssistantPart[] => {
    const callId = call.filled("id");
    const type = call.fields.type ?? "function";
    if (type === "function") {
      const { fields } = call.record("function");
      const name = call.record("function").filled("name");
      const args = isRecord(fields.arguments) ? copyFields(fields.arguments) : toArgs(call.record("function").text("arguments"));
      return [{ type: "tool-call", callId, name, args }];
    }
    if (type !== "custom") throw call.wrong("type", '"function" or "custom"');
    const custom = call.record("custom");
    return [{ type: "tool-call", callId, name: custom.filled("name"), args: { input: custom.text("input") } }];
  });
}

/** Parses arguments. Returns invalid JSON as a string, so that the model sees its own mistake. */
export function toArgs(text: string): Json {
  const parsed = parseToolArguments(text);
  return "args" in parsed ? (parsed.args as Json) : text;
}

/** Returns the content that becomes provider metadata, because only the model that wrote it accepts it. */
function readKeptItems(message: FieldReader): readonly Json[] {
  const { reasoning_details: details } = message.fields;
  const items = message.records("tool_calls").flatMap(({ fields }, call): readonly Json[] => {
    const { extra_content: extra, function: called } = fields;
    const text = isRecord(called) ? called.arguments : undefined;
    const isObject = typeof text === "string" && text.trim() !== "" && isRecord(toArgs(text));
    return [
      ...(extra === undefined ? [] : [{ call, extra_content: extra as Json }]),
      ...(isObject && text !== JSON.stringify(toArgs(text)) ? [{ call, arguments: text }] : []),
    ];
  });
  return details === undefined || details === null ? items : [{ reasoning_details: details as Json }, ...items];
}

function readResult(message: FieldReader, callId: string): Parameters<HistoryDraft["addResult"]>[0] {
  const parts = readParts(message);
  const texts = parts.map((part) => (part.type === "text" ? part.text : ""));
  const isText = parts.every(({ type }) => type === "text");
  return { callId, outcome: "completed", ...(isText ? { result: texts.join("") } : toReadResult(parts)) };
}

/**
 * Prepares a message for the comparison that finds lost content. Removes insignificant differences in form. Also removes reasoning,
 * which the transcript contains as text.
 */
function normalizeChat(message: UnknownRecord): Json {
  const { content, reasoning_content: _one, reasoning: _other, tool_calls: calls, ...rest } = message;
  const parts = typeof content === "string" ? [{ type: "text", text: content }] : listOf(content);
  const joins = message.role !== "user";
  return withoutNulls({
    ...rest,
    content: joins ? joinTexts(parts) : parts.filter((part) => !isEmptyText(part)),
    tool_calls: listOf(calls).map((call) => withoutNulls({ type: "function", ...recordOf(call) })),
  });
}

function withoutNulls(fields: object): Json {
  return omitFields(fields, (_, value) => value === undefined || value === null || (Array.isArray(value) && value.length === 0));
}

function isEmptyText(part: unknown): boolean {
  return isRecord(part) && part.type === "text" && part.text === "" && Object.keys(part).length === 2;
}

/** Joins adjacent text parts that have no fields besides `type` and `text`. */
function joinTexts(parts: readonly unknown[]): readonly unknown[] {
  const joined: unknown[] = [];
  for (const part of parts) {
    if (isEmptyText(part)) continue;
    const last = joined.at(-1);
    if (isPlainText(part) && isPlainText(last)) joined[joined.length - 1] = { type: "text", text: last.text + part.text };
    else joined.push(part);
  }
  return joined;
}

function isPlainText(part: unknown): part is { readonly text: string } {
  return isRecord(part) && part.type === "text" && typeof part.text === "string" && Object.keys(part).length === 2;
}
