import type { CacheBreakCause } from "./types.ts";
import { countBytes } from "../../shared/estimate-tokens.ts";
import type { ModelRequest } from "../../core/index.ts";
import { isRecord, recordOf } from "../../core/kit.ts";
import { stableJson } from "../../shared/json.ts";
import { userTextOf } from "../../shared/transcript.ts";
import { countShared, isSamePart, type Part, toText } from "./part.ts";
import { type Prefix, sumBytes } from "./prefix.ts";
import { settingPlaces } from "./read-body.ts";

function findToolCause(before: readonly Part[], next: readonly Part[], at: number): CacheBreakCause {
  const [old, part] = [before[at], next[at]];
  const hasName = (parts: readonly Part[], name: string | undefined): boolean => parts.some((each) => each.name === name);
  if (old !== undefined && part !== undefined && old.name === part.name) {
    return { kind: hasSameFields(old, part) ? "tool-keys-reordered" : "tool-changed", name: old.name };
  }
  if (old !== undefined && !hasName(next, old.name)) return { kind: "tool-removed", name: old.name };
  if (part !== undefined && !hasName(before, part.name)) return { kind: "tool-added", name: part.name };
  return { kind: "tools-reordered" };
}

function findMessageCause(before: Prefix, next: Prefix, at: number): CacheBreakCause {
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
 * True if two assistant messages have the same text and calls, so that only reasoning, signatures or ids differ. Also true if one of
 * them has neither text nor calls, because that message is then a reasoning item that was added or removed.
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

/** Fields that contain text, names and arguments as strings, in any API's format. */
const shownFields: ReadonlySet<string> = new Set(["text", "content", "name", "toolName", "arguments"]);

/** Lists the text, names and arguments in a value, without reasoning. */
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

/** Returns the first message in which the run's middleware has replaced content with text. */
function findReplaced(
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
  /** The text that middleware wrote in place of content, escaped for a JSON string. Adapters send it unchanged in every format. */
  readonly text: string;
}

/**
 * Lists the content that middleware has replaced. The transcript stays unchanged, so a tool message that is not in it has masked results. A
 * user message that is not in it is a summary or contains the context items.
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

/** The result of comparing a request with the previous request. Sizes are in bytes of the previous request. */
export interface Comparison {
  readonly sharedBytes: number;
  /**
   * The maximum number of bytes that could have been shared: those before the first expected change. A change is expected if middleware
   * made it, or if it is normal.
   */
  readonly possibleBytes: number;
  /** The cause of the first change. Undefined if the request only adds messages, or if the first change is normal. */
  readonly cause: CacheBreakCause | undefined;
  readonly isIntended: boolean;
}

interface Change {
  readonly at: number;
  readonly cause: CacheBreakCause | undefined;
}

/**
 * A change in the messages. A normal change has no cause, for example if context items move to the end or a paused message becomes longer.
 */
interface MessageChange extends Change {
  readonly isIntended: boolean;
}

export function comparePrefixes(before: Prefix, next: Prefix, request: ModelRequest): Comparison {
  const head = findHeadChange(before, next);
  const changes = findMessageChanges(before, next, request);
  const [first] = changes;
  const intended = changes.find(({ cause, isIntended }) => cause === undefined || isIntended);
  const { at, cause } = head ?? first ?? { at: before.bytes, cause: undefined };
  return {
    sharedBytes: at,
    possibleBytes: intended?.at ?? before.bytes,
    cause,
    isIntended: head === undefined && first?.isIntended === true,
  };
}

/** Returns the first change to the tools, the system text, or a setting that services read before the messages. */
function findHeadChange(before: Prefix, next: Prefix): Change | undefined {
  const toolBytes = sumBytes(before.tools);
  const headBytes = toolBytes + sumBytes(before.system);
  const tool = findDifference(before.tools, next.tools);
  if (tool !== undefined) {
    return { at: countUntil(tool, before.tools, next.tools), cause: findToolCause(before.tools, next.tools, tool) };
  }
  const early = findSetting(before, next, "system");
  if (early !== undefined) return { at: toolBytes, cause: early };
  const system = findDifference(before.system, next.system);
  if (system !== undefined) {
    return { at: toolBytes + countUntil(system, before.system, next.system), cause: { kind: "system-changed" } };
  }
  const late = findSetting(before, next, "messages");
  return late === undefined ? undefined : { at: headBytes, cause: late };
}

function findSetting({ settings }: Prefix, next: Prefix, place: "system" | "messages"): CacheBreakCause | undefined {
  const name = Object.keys(settingPlaces).find((each) => settingPlaces[each] === place && settings[each] !== next.settings[each]);
  if (name === undefined) return undefined;
  return name === "tool_choice" ? { kind: "tool-choice-changed" } : { kind: "setting-changed", name };
}

function findDifference(before: readonly Part[], next: readonly Part[]): number | undefined {
  for (let at = 0; at < Math.max(before.length, next.length); at += 1) if (!isSamePart(before[at], next[at])) return at;
  return undefined;
}

function countUntil(at: number, before: readonly Part[], next: readonly Part[]): number {
  return sumBytes(before, at) + countShared(before[at]?.value, next[at]?.value);
}

/**
 * Returns the first change to the messages. If it was not expected, also returns the first expected change: one that
 * middleware made, or a move of the context items.
 */
function findMessageChanges(before: Prefix, next: Prefix, request: ModelRequest): readonly MessageChange[] {
  const at = before.messages.findIndex((part, index) => !isSamePart(part, next.messages[index]));
  if (at === -1) return [];
  const start = sumBytes(before.tools) + sumBytes(before.system);
  const toChange = (index: number): MessageChange => ({
    at: start + countUntil(index, before.messages, next.messages),
    cause: undefined,
    isIntended: false,
  });
  const context = findContext(before);
  const first = toChange(at);
  if (isExpected(at, before, next) || first.at - start >= context) return [first];
  const replaced = findReplaced(before, next, { request, from: at });
  const cause = replaced?.at === at ? replaced.cause : findMessageCause(before, next, at);
  if (replaced?.at === at) return [{ ...first, cause, isIntended: true }];
  const moved = Number.isFinite(context) ? [{ ...first, at: start + context, cause: undefined }] : [];
  const later = replaced === undefined ? moved : [{ ...toChange(replaced.at), cause: replaced.cause, isIntended: true }];
  return [{ ...first, cause }, ...later];
}

/**
 * True if the last message in the previous request only became longer: a paused message was continued, or user messages were
 * joined. After a resume, the text of the previous request is unknown, so any change to its last message is expected.
 */
function isExpected(at: number, before: Prefix, next: Prefix): boolean {
  const [old, part] = [before.messages[at], next.messages[at]];
  if (at !== before.messages.length - 1 || old === undefined || part === undefined) return false;
  if (old.value === undefined) return true;
  return toText(part.value).startsWith(toText(old.value).replace(/["\]}]+$/, ""));
}

/**
 * Returns the number of bytes in the messages before the context items, or Infinity if there are none. The context
 * items are sent together: as one of the last two messages, or as the final block of one of them.
 */
function findContext({ messages, context }: Prefix): number {
  if (context === undefined) return Number.POSITIVE_INFINITY;
  const inner = JSON.stringify(context).slice(1, -1);
  for (let at = messages.length - 1; at >= Math.max(0, messages.length - 2); at -= 1) {
    const text = toText(messages[at]?.value);
    const found = text.lastIndexOf(inner);
    if (found === -1) continue;
    // The context starts at `block`. If nothing precedes it, the whole message is context. Otherwise, a comma at `block - 1` separates it
    // from earlier blocks.
    const block = text.lastIndexOf("{", found);
    const isAlone = block === 0 || text.indexOf("{", 1) === block;
    return sumBytes(messages, at) + (isAlone ? 0 : countBytes(text.slice(0, block - 1)));
  }
  return Number.POSITIVE_INFINITY;
}
