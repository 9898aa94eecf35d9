// An assistant message as the model wrote it. Its items are kept as provider metadata, in order, and sent back in the form that
// the service accepts. Reasoning is encrypted, and only these items contain the results of the service's own tools.

import {
  type AssistantMessage,
  copyFields,
  digest,
  isRecord,
  type Json,
  type MetadataReader,
  readOwnItems,
  readAssistantMessage,
  textOf,
  type UnknownRecord,
} from "../core/provider-kit.ts";
import { hasNoArguments, isCallType, isObjectText } from "./responses-calls.ts";
import { kindOf, wordsOf } from "./responses-texts.ts";
import type { InputItem } from "./responses-options.ts";

/** Makes one part of provider metadata for each item, in the form of `readResponsesMetadata`. */
export function toResponsesMetadata(items: readonly Json[], stored: boolean): readonly Json[] {
  return items.map((item) => (stored ? { output_item: item, stored } : { output_item: item }));
}

/** The reader of a message. */
export interface OwnMessageReader extends MetadataReader {
  readonly store: boolean;
}

/**
 * Reads the provider metadata of an assistant message. Returns the items to send back, or undefined if the message must be
 * written from its neutral parts.
 *
 * All items must be of this service and model, because reasoning is not portable. They must also match the neutral parts: the
 * same text, and the same calls with the same ids. They differ if a call got another id, or the message was edited. No item may
 * wait for an answer that this adapter does not give.
 */
export function readResponsesMetadata(turn: AssistantMessage, reader: OwnMessageReader): readonly InputItem[] | undefined {
  const parts = readItems(turn, reader);
  if (parts === undefined) return undefined;
  const items = parts.map(({ item }) => item);
  if (!saysTheSame(items, turn) || hasUnanswered(items)) return undefined;
  return withoutTail(parts.flatMap(({ item, stored }) => toInputItem(item, stored && reader.store)));
}

/** Drops reasoning at the end, which the service rejects. */
function withoutTail(items: readonly InputItem[]): readonly InputItem[] {
  let end = items.length;
  while (items[end - 1]?.type === "reasoning") end -= 1;
  return items.slice(0, end);
}

interface OutputItem {
  readonly item: { readonly [field: string]: Json };
  readonly stored: boolean;
}

/** Undefined if any part is not an item for this reader. */
function readItems(turn: AssistantMessage, reader: MetadataReader): readonly OutputItem[] | undefined {
  const parts = readOwnItems(turn.providerMetadata, reader);
  const items = parts?.flatMap(({ output_item: item, stored }) =>
    isRecord(item) ? [{ item: copyFields(item), stored: stored === true }] : [],
  );
  return items?.length === parts?.length ? items : undefined;
}

/** A tool name that the service accepts. */
const wireName = /^[\w-]{1,128}$/;

function saysTheSame(items: readonly UnknownRecord[], turn: AssistantMessage): boolean {
  const { text: said, calls } = readAssistantMessage(turn);
  const names = new Map(calls.map(({ callId, name }) => [callId, name]));
  const written = items.map(textOfItem).filter((text) => text !== "");
  const asked = items.filter(({ type }) => isCallType(type));
  if (written.join("\n\n") !== said || asked.length !== names.size) return false;
  // Each call once: a repeated id became two ids.
  return asked.every(({ call_id: id, name }) => {
    const known = names.get(textOf(id));
    names.delete(textOf(id));
    return known !== undefined && known === name && wireName.test(known);
  });
}

/** Returns the text of a message item, as the stream reader sends it. */
function textOfItem({ type, content }: UnknownRecord): string {
  if (type !== "message" || !Array.isArray(content)) return "";
  return content.map((part: unknown) => (isRecord(part) && kindOf(part.type) !== undefined ? wordsOf(part) : "")).join("");
}

/** Calls that the service asks the client to run, if such tools are offered. */
const clientCalls: ReadonlySet<unknown> = new Set([
  "computer_call",
  "local_shell_call",
  "shell_call",
  "apply_patch_call",
  "tool_search_call",
]);

function hasUnanswered(items: readonly UnknownRecord[]): boolean {
  const answered = new Set(items.flatMap(({ type, call_id: id }) => (clientCalls.has(type) ? [] : [id])));
  return items.some(({ type, call_id: id }) => {
    if (type === "mcp_approval_request") return true;
    return clientCalls.has(type) && typeof id === "string" && !answered.has(id);
  });
}

/** Items that the service accepts without their ids. With an id it would look for a stored item, and find none. */
const idIsOptional: ReadonlySet<unknown> = new Set([
  "message",
  "reasoning",
  "function_call",
  "custom_tool_call",
  "web_search_call",
  "tool_search_call",
  "tool_search_output",
  "additional_tools",
  "shell_call",
  "shell_call_output",
  "apply_patch_call",
  "compaction",
]);

/** Items whose status only the service may set: "Unknown parameter: 'input[1].status'" (github.com/BerriAI/litellm/issues/13420). */
const statusIsOutput: ReadonlySet<unknown> = new Set(["reasoning", "function_call", "custom_tool_call"]);

/** Converts an item to the form that the service accepts back; empty if the service cannot use it. */
function toInputItem(item: OutputItem["item"], keepId: boolean): readonly InputItem[] {
  const { id, status, created_by: _, ...rest } = item;
  const { type } = item;
  const known: InputItem = {
    ...(id !== undefined && (keepId || !idIsOptional.has(type)) ? { id } : {}),
    ...rest,
    ...(status === undefined || statusIsOutput.has(type) || (type === "message" && !keepId) ? {} : { status }),
  };
  if (type === "reasoning") return toReasoning(known, keepId);
  if (type === "message") return [{ ...known, content: withoutLogprobs(rest.content) }];
  if (isCallType(type)) return [toCall(known)];
  return [known];
}

/** Converts reasoning. Without an id to look it up by, it needs content: encrypted, or as plain text of open models. */
function toReasoning({ encrypted_content: encrypted, ...rest }: InputItem, keepId: boolean): readonly InputItem[] {
  const isEmpty = typeof encrypted !== "string" && !(Array.isArray(rest.content) && rest.content.length > 0);
  if (isEmpty && !keepId) return [];
  return [{ ...rest, summary: rest.summary ?? [], ...(typeof encrypted === "string" ? { encrypted_content: encrypted } : {}) }];
}

/** Removes log probabilities, which are much longer than their text and not needed. */
function withoutLogprobs(content: Json | undefined): Json {
  if (!Array.isArray(content)) return [];
  return content.map((part: Json) => {
    if (!isRecord(part)) return part;
    const { logprobs: _, ...rest } = copyFields(part);
    return rest;
  });
}

function toCall(item: InputItem): InputItem {
  const named = { ...item, call_id: toWireCallId(textOf(item.call_id)) };
  if (item.type === "custom_tool_call") return named;
  return { ...named, arguments: toObjectText(item.arguments) };
}

/** Returns arguments as the text of an object, which servers require; those of a refused call may be any value. */
function toObjectText(args: Json | undefined): string {
  const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
  if (hasNoArguments(text)) return "{}";
  return isObjectText(text) ? text : JSON.stringify({ INVALID_JSON: text });
}

const longestCallId = 64;

/**
 * Converts an id of more than 64 characters, which the service rejects, though some of its backends send longer ones
 * (github.com/openclaw/openclaw/pull/137489). A long id keeps its beginning, and ends with a digest of the whole id. Ids that
 * look converted are converted too, so that two ids never become equal.
 */
export function toWireCallId(callId: string): string {
  if (callId.length <= longestCallId && !looksMade(callId)) return callId;
  const hash = digest(callId);
  return `${callId.slice(0, longestCallId - hash.length - 1)}_${hash}`;
}

function looksMade(callId: string): boolean {
  return callId.length === longestCallId && /_[\da-f]{14}$/.test(callId);
}
