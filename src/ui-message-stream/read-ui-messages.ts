import { type AssistantPart, isRecord, type ToolCallPart } from "../core/kit.ts";
import type { ContentPart, Json, UserMessage } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { isText } from "../shared/errors/check-fields.ts";
import { renderOutcome } from "../shared/to-outcome.ts";
import { FieldReader, HistoryDraft, type HistoryProvider, toMediaPart } from "../shared/history/read-history.ts";
import type { Piece } from "../shared/history/find-lost.ts";

interface ReadMessages {
  readonly draft: HistoryDraft;
  readonly system: string;
}

/** Reads UI messages into a transcript. With `provider`, keeps the metadata that services added, for this provider and model. */
export function readUIMessages(messages: readonly FieldReader[], provider: HistoryProvider | undefined): ReadMessages {
  const draft = new HistoryDraft();
  const system: string[] = [];
  let isBegun = false;
  for (const message of messages) {
    const { fields } = message;
    const { index } = message.piece;
    const role = message.text("role");
    const parts = message.records("parts");
    const metadata = readMetadata(role, fields.metadata);
    if ((fields.metadata ?? metadata) !== metadata) draft.note({ index, field: "metadata", reason: "omitted" });
    if (role === "system" && !isBegun) {
      if (system.length > 0 || parts.length > 1) draft.note({ index, field: "", reason: "changed" });
      system.push(parts.map((part) => part.optionalText("text")).join(""));
    } else if (role === "user" || role === "system") addUser(parts, { role, metadata }, draft);
    else if (role === "assistant") addAssistant(message, { draft, provider });
    else throw message.wrong("role", '"user", "assistant" or "system"');
    isBegun ||= role !== "system";
  }
  return { draft, system: system.join("\n\n") };
}

/** Returns a user message's metadata. In other messages, metadata comes from the run, so it is ignored. */
function readMetadata(role: string, metadata: unknown): UnknownRecord | undefined {
  return role === "user" && isRecord(metadata) ? metadata : undefined;
}

interface UserFacts {
  readonly role: "user" | "system";
  readonly metadata: UnknownRecord | undefined;
}

function addUser(parts: readonly FieldReader[], { role, metadata }: UserFacts, draft: HistoryDraft): void {
  const content = parts.flatMap(readUserPart);
  const [first] = content;
  const text = content.length === 1 && first?.type === "text" ? first.text : content;
  const pieces = parts.map((part) => toPiece(part, { id: "", keepsMetadata: false }));
  // Safe cast: the history was copied as JSON data.
  const kept = metadata === undefined ? {} : { metadata: metadata as NonNullable<UserMessage["metadata"]> };
  draft.add({ role: "user", content: text, ...kept, ...(role === "user" ? {} : { pinned: true }) }, pieces);
  if (role === "system") for (const { index } of pieces.slice(0, 1)) draft.note({ index, field: "role", reason: "changed" });
}

function readUserPart(part: FieldReader): readonly ContentPart[] {
  const type = part.filled("type");
  if (type === "text") return part.text("text") === "" ? [] : [{ type, text: part.text("text") }];
  return type === "file" ? [toMediaPart(part.filled("url"), part.filled("mediaType"), part.fields.filename)] : [];
}

interface Target {
  readonly draft: HistoryDraft;
  readonly provider: HistoryProvider | undefined;
}

function addAssistant(message: FieldReader, { draft, provider }: Target): void {
  const id = typeof message.fields.id === "string" ? message.fields.id : "";
  let step: FieldReader[] = [];
  const close = (): void => {
    if (step.length > 0) addStep(step, id, { draft, provider });
    step = [];
  };
  for (const part of message.records("parts")) {
    if (part.filled("type") === "step-start") close();
    else step.push(part);
  }
  close();
}

function addStep(step: readonly FieldReader[], id: string, { draft, provider }: Target): void {
  const content = step.flatMap((part) => readAssistantPart(part, id));
  const items = provider === undefined ? [] : step.flatMap((part) => toItem(part, id));
  const hasMetadata = items.some((item) => "providerOptions" in item.part);
  const metadata = hasMetadata ? items.map((item) => ({ provider: provider?.id ?? "", model: provider?.model ?? "", item })) : [];
  const pieces = step.map((part) => toPiece(part, { id, keepsMetadata: hasMetadata }));
  draft.add({ role: "assistant", content, ...(hasMetadata ? { providerMetadata: metadata } : {}) }, pieces);
  for (const part of step) addResult(part, id, draft);
}

function readAssistantPart(part: FieldReader, id: string): readonly AssistantPart[] {
  const { type } = part.fields;
  if (type === "text" || type === "reasoning") return part.text("text") === "" ? [] : [{ type, text: part.text("text") }];
  return isTool(type) ? [readCall(part, id)] : [];
}

function isTool(type: unknown): type is string {
  return isText(type) && (type === "dynamic-tool" || (type.startsWith("tool-") && type !== "tool-"));
}

function readCall(part: FieldReader, id: string): ToolCallPart {
  const { input, rawInput } = part.fields;
  return {
    type: "tool-call",
    callId: toOwnCallId(part.filled("toolCallId"), id),
    name: nameOf(part),
    args: (input ?? rawInput ?? {}) as Json,
  };
}

function nameOf(part: FieldReader): string {
  const type = part.filled("type");
  return type === "dynamic-tool" ? part.filled("toolName") : type.slice("tool-".length);
}

/**
 * Removes the prefix that `toUIMessages` puts before a call id. The prefix is the id of this message, or the id of an assistant
 * message that `toUIMessages` has joined to this message.
 */
function toOwnCallId(callId: string, id: string): string {
  if (id !== "" && callId.startsWith(`${id}:`) && callId.length > id.length + 1) return callId.slice(id.length + 1);
  const prefix = id.replace(/\d+$/, "");
  if (prefix === id || !callId.startsWith(prefix)) return callId;
  return /^\d+:(.+)$/s.exec(callId.slice(prefix.length))?.[1] ?? callId;
}

function addResult(part: FieldReader, id: string, draft: HistoryDraft): void {
  const { type, state, output, approval } = part.fields;
  if (!isTool(type)) return;
  const call = readCall(part, id);
  const { callId } = call;
  // Adds only the result, because its part also contains the call, which has already been added.
  if (state === "output-available") draft.addResult({ callId, outcome: "completed", result: (output ?? null) as Json });
  else if (state === "output-error") draft.addResult({ callId, outcome: "failed", result: part.text("errorText") });
  else if (state === "output-denied") {
    const reason = new FieldReader({ ...(approval as object) }, part.piece.index).optionalText("reason");
    const result = renderOutcome({ kind: "denied", call, durationMs: 0, ...(reason === "" ? {} : { reason }) });
    draft.addResult({ callId, outcome: "denied", result });
  }
}

type Item = { readonly part: { readonly [field: string]: Json } };

/** Returns a part in the form in which `aiSdkModel` records it. */
function toItem(part: FieldReader, id: string): readonly Item[] {
  const { type, providerMetadata, callProviderMetadata } = part.fields;
  const metadata = providerMetadata ?? callProviderMetadata;
  const options = metadata === undefined || metadata === null ? {} : { providerOptions: metadata as Json };
  if (type === "text" || type === "reasoning") return [{ part: { type, text: part.text("text"), ...options } }];
  if (!isTool(type)) return [];
  const { callId, name, args } = readCall(part, id);
  return [{ part: { type: "tool-call", toolCallId: callId, toolName: name, input: args, ...options } }];
}

interface PieceFacts {
  readonly id: string;
  readonly keepsMetadata: boolean;
}

function toPiece(part: FieldReader, facts: PieceFacts): Piece {
  return { ...part.piece, value: normalizePart(part.fields, facts) };
}

/** Prepares a part for the comparison that finds lost content: removes message ids, text states, and meaningless differences in form. */
export function normalizePart(part: UnknownRecord, { id, keepsMetadata }: PieceFacts): Json {
  const {
    providerExecuted: _executed,
    toolCallId,
    toolName,
    state,
    providerMetadata,
    callProviderMetadata,
    approval,
    ...rest
  } = part;
  const { type } = part;
  const kept = keepsMetadata ? {} : { providerMetadata, callProviderMetadata };
  if (!isTool(type)) return withoutNulls({ ...rest, toolName, toolCallId, approval, ...kept });
  const isDenied = state === "output-denied" && typeof approval === "object" && approval !== null;
  return withoutNulls({
    ...rest,
    type: type === "dynamic-tool" ? `tool-${String(toolName)}` : type,
    toolCallId: isText(toolCallId) ? toOwnCallId(toolCallId, id) : toolCallId,
    state,
    approval: isDenied ? withoutNulls({ ...approval, id: undefined }) : approval,
    ...kept,
  });
}

function withoutNulls(fields: object): Json {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));
}
