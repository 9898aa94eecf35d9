// Keeps an assistant message's output items as provider metadata and sends them back, because only they contain encrypted reasoning and the
// results of tools that the service ran.

import { type AssistantMessage, type Json } from "../core/index.ts";
import { copyFields } from "../shared/plain-error.ts";
import { idRules, toWireId } from "../shared/adapters/wire-names.ts";
import { isRecord, readAssistantMessage, textOf } from "../core/kit.ts";
import { type MetadataReader, readOwnItems } from "../shared/adapters/sdk-provider.ts";
import { parseJson } from "../shared/json.ts";
import { readArguments } from "../shared/tool-arguments.ts";
import { toWellFormed } from "../shared/adapters/well-formed.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { hasNoArguments, isCallType, isObjectText } from "./responses-calls.ts";
import { kindOf, wordsOf } from "./responses-texts.ts";
import type { InputItem } from "./responses-options.ts";

export function toResponsesMetadata(items: readonly Json[], stored: boolean): readonly Json[] {
  return items.map((item) => (stored ? { output_item: item, stored } : { output_item: item }));
}

export interface OwnMessageReader extends MetadataReader {
  readonly store: boolean;
}

/**
 * Returns the items to send back, or undefined if the message must be rebuilt from its text and calls.
 *
 * All items must come from this service and model, because no other model can read the reasoning. The items must also have the same text
 * and calls as the message. Text or calls differ if the message was edited, or if a call got a different id. No item may be waiting for an
 * answer that this adapter cannot give, such as an MCP approval.
 */
export function readResponsesMetadata(message: AssistantMessage, reader: OwnMessageReader): readonly InputItem[] | undefined {
  const parts = readItems(message, reader);
  if (parts === undefined) return undefined;
  const items = parts.map(({ item }) => item);
  if (!saysTheSame(items, message) || hasUnanswered(items)) return undefined;
  return withoutTail(parts.flatMap(({ item, stored }) => toInputItem(item, stored && reader.store)));
}

/** Removes reasoning at the end of the message, because the service rejects it there. */
function withoutTail(items: readonly InputItem[]): readonly InputItem[] {
  let end = items.length;
  while (items[end - 1]?.type === "reasoning") end -= 1;
  return items.slice(0, end);
}

interface OutputItem {
  readonly item: { readonly [field: string]: Json };
  readonly stored: boolean;
}

function readItems(message: AssistantMessage, reader: MetadataReader): readonly OutputItem[] | undefined {
  const parts = readOwnItems(message.providerMetadata, reader);
  const items = parts?.flatMap(({ output_item: item, stored }) =>
    isRecord(item) ? [{ item: copyFields(item), stored: stored === true }] : [],
  );
  return items?.length === parts?.length ? items : undefined;
}

const wireName = /^[\w-]{1,128}$/;

function saysTheSame(items: readonly UnknownRecord[], message: AssistantMessage): boolean {
  const { text: said, calls } = readAssistantMessage(message);
  const names = new Map(calls.map(({ callId, name }) => [callId, name]));
  const written = items.map(textOfItem).filter((text) => text !== "");
  const asked = items.filter(({ type }) => isCallType(type));
  if (written.join("\n\n") !== said || asked.length !== names.size) return false;
  // If two items share a call id, the message got a new id for one of them, so the items do not match it.
  return asked.every(({ call_id: id, name }) => {
    const known = names.get(textOf(id));
    names.delete(textOf(id));
    return known !== undefined && known === name && wireName.test(known);
  });
}

function textOfItem({ type, content }: UnknownRecord): string {
  if (type !== "message" || !Array.isArray(content)) return "";
  return content.map((part: unknown) => (isRecord(part) && kindOf(part.type) !== undefined ? wordsOf(part) : "")).join("");
}

/** Types of items that ask the client to do something. The service sends such an item only if the request contains the matching tool. */
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

/**
 * Types of items that the service accepts without an id. Their ids are removed, because the service would look up a stored item with that
 * id, which may not exist.
 */
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

/**
 * Item types that must not have a status, because the service rejects a status there: "Unknown parameter: 'input[1].status'"
 * (github.com/BerriAI/litellm/issues/13420).
 */
const statusIsOutput: ReadonlySet<unknown> = new Set(["reasoning", "function_call", "custom_tool_call"]);

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

/** Returns a reasoning item, or nothing if it has neither an id nor content. Content is encrypted, or plain text from an open model. */
function toReasoning({ encrypted_content: encrypted, ...rest }: InputItem, keepId: boolean): readonly InputItem[] {
  const isEmpty = typeof encrypted !== "string" && !(Array.isArray(rest.content) && rest.content.length > 0);
  if (isEmpty && !keepId) return [];
  return [{ ...rest, summary: rest.summary ?? [], ...(typeof encrypted === "string" ? { encrypted_content: encrypted } : {}) }];
}

/** Removes log probabilities, which are not needed and are much longer than the text. */
function withoutLogprobs(content: Json | undefined): Json {
  if (!Array.isArray(content)) return [];
  return content.map((part: Json) => {
    if (!isRecord(part)) return part;
    const { logprobs: _, ...rest } = copyFields(part);
    return rest;
  });
}

function toCall(item: InputItem): InputItem {
  const named = { ...item, call_id: toWireId(textOf(item.call_id), idRules.responses) };
  if (item.type === "custom_tool_call") return named;
  return { ...named, arguments: toObjectText(item.arguments) };
}

/**
 * Matches an escape of U+0000 or of half a surrogate pair. A request must contain neither, even after the service has parsed the JSON in
 * its strings.
 */
const badEscape = /\\u(?:d[89a-f]|0000)/i;

function decodedObject(text: string): object | undefined {
  const args = readArguments(text, 0);
  return isRecord(args) ? args : undefined;
}

function toObjectText(args: Json | undefined): string {
  const text = typeof args === "string" ? args : JSON.stringify(args ?? {});
  if (hasNoArguments(text)) return "{}";
  if (!isObjectText(text)) return JSON.stringify(decodedObject(text) ?? { INVALID_JSON: text });
  const parsed = badEscape.test(text) ? parseJson(text) : undefined;
  const clean = toWellFormed(parsed);
  return clean === parsed ? text : JSON.stringify(clean);
}
