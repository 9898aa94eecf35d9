// Names the cause of the first change.

import { type CacheBreakCause, isRecord, type Message, stableJson } from "../core/entry-kit.ts";
import { isSamePart, type Part } from "./part.ts";
import type { Prefix } from "./prefix.ts";

export function findToolCause(before: readonly Part[], next: readonly Part[], at: number): CacheBreakCause {
  const [old, part] = [before[at], next[at]];
  const hasName = (parts: readonly Part[], name: string | undefined): boolean => parts.some((each) => each.name === name);
  if (old !== undefined && part !== undefined && old.name === part.name) {
    return { kind: hasSameFields(old, part) ? "tool-keys-reordered" : "tool-changed", name: old.name };
  }
  if (old !== undefined && !hasName(next, old.name)) return { kind: "tool-removed", name: old.name };
  if (part !== undefined && !hasName(before, part.name)) return { kind: "tool-added", name: part.name };
  return { kind: "tools-reordered" };
}

export function findMessageCause(before: Prefix, next: Prefix, at: number): CacheBreakCause {
  const [old, part] = [before.messages[at], next.messages[at]];
  if (old === undefined || part === undefined) return { kind: "messages-removed", count: before.messages.length - at };
  if (hasSameFields(old, part)) return { kind: "message-keys-reordered", count: 1 };
  const inserted = findAfter(next.messages, old, at);
  if (inserted > 0) return { kind: "messages-inserted", count: inserted };
  const removed = findAfter(before.messages, part, at);
  if (removed > 0) return { kind: "messages-removed", count: removed };
  if (isOfModel(part.value) && hasSameContent(before.own, next.own)) return { kind: "provider-metadata-changed", count: 1 };
  return { kind: "messages-edited", count: 1 };
}

function findAfter(parts: readonly Part[], wanted: Part, at: number): number {
  for (let index = at + 1; index < parts.length; index += 1) if (isSamePart(parts[index], wanted)) return index - at;
  return 0;
}

function hasSameFields(one: Part, other: Part): boolean {
  if (one.value === undefined || other.value === undefined) return false;
  return stableJson(one.value) === stableJson(other.value);
}

/** True for a message or an item that the model wrote, in any format. */
function isOfModel(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const { role, type } = value;
  if (role !== undefined) return role === "assistant" || role === "model";
  return typeof type === "string" && !type.endsWith("_output");
}

/** True if the first message of the run that differs has the same content, and only its provider metadata differs. */
function hasSameContent(before: readonly Message[] | undefined, next: readonly Message[] | undefined): boolean {
  if (before === undefined || next === undefined) return false;
  const at = before.findIndex((message, index) => message !== next[index]);
  const [old, message] = [before[at], next[at]];
  if (old === undefined) return next.some((each) => each.role === "assistant" && each.providerMetadata !== undefined);
  return old.role === "assistant" && message?.role === "assistant" && isSameContent(old.content, message.content);
}

function isSameContent(one: unknown, other: unknown): boolean {
  return stableJson(one) === stableJson(other);
}
