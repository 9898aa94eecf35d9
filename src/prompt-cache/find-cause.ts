import { type CacheBreakCause, isRecord, type ModelRequest, recordOf, stableJson, userTextOf } from "../core/entry-kit.ts";
import { isSamePart, type Part, toText } from "./part.ts";
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
  if (isMetadataChange(old.value, part.value)) return { kind: "provider-metadata-changed", count: 1 };
  const inserted = findAfter(next.messages, old, at);
  if (inserted > 0) return { kind: "messages-inserted", count: inserted };
  const removed = findAfter(before.messages, part, at);
  if (removed > 0) return { kind: "messages-removed", count: removed };
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

/**
 * True if two messages of the model have the same text and calls: only reasoning, signatures or ids differ. Also true if one of the
 * two messages has neither text nor calls, because that message is an added or removed item with reasoning.
 */
function isMetadataChange(before: unknown, next: unknown): boolean {
  if (before === undefined || !isOfModel(before) || !isOfModel(next)) return false;
  const [old, now] = [listShown(before), listShown(next)];
  return old.length === 0 || now.length === 0 || JSON.stringify(old) === JSON.stringify(now);
}

function isOfModel(value: unknown): boolean {
  const { role, type } = recordOf(value);
  if (role !== undefined) return role === "assistant" || role === "model";
  return typeof type === "string" && !type.endsWith("_output");
}

/** In all formats, strings in these fields are texts, names and arguments. */
const shownFields: ReadonlySet<string> = new Set(["text", "content", "name", "toolName", "arguments"]);

/** Lists texts, names and arguments, but no reasoning. */
function listShown(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.flatMap(listShown);
  if (!isRecord(value) || value["type"] === "reasoning" || value["thought"] === true) return [];
  return Object.entries(value).flatMap(([key, field]): readonly unknown[] => {
    if (key === "input" || key === "args") return [field];
    if (typeof field === "string") return shownFields.has(key) ? [field] : [];
    return listShown(field);
  });
}

interface Replaced {
  readonly at: number;
  readonly cause: CacheBreakCause;
}

/** Finds the first message in which a policy of the run has replaced content with a text. */
export function findReplaced(
  before: Prefix,
  next: Prefix,
  { request, from }: { readonly request: ModelRequest; readonly from: number },
): Replaced | undefined {
  const replacements = findReplacements(request);
  if (replacements.length === 0) return undefined;
  for (let at = from; at < Math.min(before.messages.length, next.messages.length); at += 1) {
    const [old, part] = [before.messages[at], next.messages[at]];
    if (part === undefined || isSamePart(old, part)) continue;
    const text = toText(part.value);
    const oldText = old?.value === undefined ? "" : toText(old.value);
    const found = replacements.find((each) => text.includes(each.text) && !oldText.includes(each.text));
    if (found !== undefined) return { at, cause: { kind: found.kind } };
  }
  return undefined;
}

interface Replacement {
  readonly kind: Extract<CacheBreakCause["kind"], "messages-masked" | "messages-compacted">;
  /** The text that a policy wrote in place of content, escaped for a JSON string. Adapters send this text unchanged in every format. */
  readonly text: string;
}

/**
 * Policies do not change the transcript. A tool message that is not in the transcript therefore has masked results. A user message
 * that is not in the transcript is a summary, or has the context items at the end of the request.
 */
function findReplacements({ messages, transcript }: ModelRequest): readonly Replacement[] {
  if (transcript === undefined) return [];
  const kept = new Set<object>();
  for (const message of transcript.messages) {
    kept.add(message);
    if (message.role === "tool") for (const part of message.results) kept.add(part);
  }
  return messages.flatMap((message): readonly Replacement[] => {
    if (message.role === "assistant" || kept.has(message)) return [];
    if (message.role === "user") return toReplacements("messages-compacted", userTextOf(message));
    return message.results.flatMap((part) => (kept.has(part) ? [] : toReplacements("messages-masked", part.result)));
  });
}

function toReplacements(kind: Replacement["kind"], text: unknown): readonly Replacement[] {
  return typeof text === "string" && text !== "" ? [{ kind, text: JSON.stringify(text).slice(1, -1) }] : [];
}
