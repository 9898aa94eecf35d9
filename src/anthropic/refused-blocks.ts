// Removes blocks that the service would refuse. Most are calls to server tools whose results come in the next assistant message.
// Between the two messages, the service accepts only results of the run's own tools
// (github.com/anthropics/anthropic-sdk-typescript/issues/1090).

import { isRecord, listOf, memoize, recordOf, textOf } from "../core/kit.ts";
import type { Json, Message } from "../core/index.ts";
import type { WireBlock, WireMessage } from "./messages-options.ts";
import { isThinkingBlock, trimThinking } from "./provider-metadata.ts";

/** The block types that need a beta, with the beginning of that beta's name. */
export const betaBlocks = { fallback: "server-side-fallback", compaction: "compact-" } as const;

export type BetaBlock = keyof typeof betaBlocks;

/** Determines which blocks from earlier messages the service accepts in a request. */
export interface Accepted {
  /** True if the request declares this server tool. */
  declares(name: string): boolean;
  /** True if the request has a tool with this name. */
  hasTool(name: string): boolean;
  /** True if the request has the beta that blocks of this type need: `fallback` or `compaction`. */
  takes(type: BetaBlock): boolean;
}

interface ServerCall {
  readonly id: string;
  readonly name: string;
  readonly isOpen: boolean;
}

interface ServerBlocks {
  readonly calls: readonly ServerCall[];
  /** The ids of calls in earlier messages whose results are in this message. */
  readonly answers: readonly string[];
  /** The names of the tools that the results of a tool search refer to. */
  readonly references: readonly string[];
  /** True if another model took over in the middle of the message. */
  readonly hasMarker: boolean;
  /** True if the service has summarized earlier messages. */
  readonly hasSummary: boolean;
  /** The ids of calls without a result in the message that were made before another model took over. */
  readonly declined: readonly string[];
}

const none: ServerBlocks = { calls: [], answers: [], references: [], hasMarker: false, hasSummary: false, declined: [] };

const readServerBlocks = /* @__PURE__ */ memoize(({ role, content }: WireMessage): ServerBlocks => {
  if (role === "user") return none;
  const calls = content.filter(isServerCall);
  const results = content.filter(isServerResult).map((block) => textOf(block.tool_use_id));
  const marker = content.findLastIndex(isMarker);
  const hasSummary = content.some(isSummary);
  if (calls.length + results.length === 0 && marker === -1 && !hasSummary) return none;
  const ids = new Set(calls.map(({ id }) => textOf(id)));
  const before = content.slice(0, Math.max(marker, 0)).filter(({ type }) => type.endsWith("tool_use"));
  return {
    calls: calls.map(({ id, name }) => ({ id: textOf(id), name: textOf(name), isOpen: !results.includes(textOf(id)) })),
    answers: results.filter((id) => !ids.has(id)),
    references: content.flatMap(listReferences).map(nameOf),
    hasMarker: marker !== -1,
    hasSummary,
    declined: before.map(({ id }) => textOf(id)).filter((id) => !results.includes(id)),
  };
});

function isServerCall({ type }: WireBlock): boolean {
  return type.endsWith("_tool_use");
}

function isServerResult({ type }: WireBlock): boolean {
  return type.endsWith("_tool_result");
}

/**
 * Removes blocks that the service would refuse: calls that a fallback has declined, references to tools that are gone, open server tool
 * calls that the next assistant message does not answer, and results without their call. An open call is also removed if a user message
 * follows, because the model would not read that message before it has answered. If the request does not declare the tool, the service
 * refuses an open call at the end. It also refuses the results of a tool search anywhere, because they refer to tools.
 */
export function removeRefusedBlocks(
  messages: readonly Message[],
  given: readonly WireMessage[],
  accepted: Accepted,
): readonly WireMessage[] {
  if (given.every((message) => message.role === "user" || readServerBlocks(message) === none)) return given;
  const awaited = new Set<string>();
  const wire = withoutDeclined(given, accepted).map((message) => withoutReferences(withoutSummary(message, accepted), accepted));
  return wire.map((message, at) => {
    const { calls, answers } = readServerBlocks(message);
    if (calls.length + answers.length === 0) return message;
    const removed = new Set(answers.filter((id) => !awaited.delete(id)));
    let next = at + 1;
    while (messages[next]?.role === "tool") next += 1;
    const follower = toFollower(messages[next], wire[next]);
    for (const call of calls) {
      if (!canStay(call, follower, accepted)) removed.add(call.id);
      else if (call.isOpen) awaited.add(call.id);
    }
    return removed.size === 0 ? message : withoutBlocks(message, [...removed]);
  });
}

/**
 * The ids of the calls that the next user or assistant message answers. Undefined if there is no next message, because the service then
 * answers the open calls itself.
 */
type Follower = readonly string[] | undefined;

function toFollower(message: Message | undefined, wire: WireMessage | undefined): Follower {
  return message === undefined || wire === undefined ? undefined : readServerBlocks(wire).answers;
}

function canStay({ id, name, isOpen }: ServerCall, follower: Follower, { declares }: Accepted): boolean {
  if (isOpen && follower !== undefined && !follower.includes(id)) return false;
  const needsTool = name.startsWith("tool_search") || (isOpen && follower === undefined);
  return !needsTool || declares(name);
}

const shortened = new WeakMap<WireMessage, Map<string, WireMessage>>();

type Shorten = (block: WireBlock) => readonly WireBlock[];

/**
 * Applies a change to a message. Returns the same object for the same message and key, because the code that sets cache marks compares
 * messages by identity.
 */
function shorten(message: WireMessage, key: string, change: Shorten): WireMessage {
  const known = shortened.get(message) ?? new Map<string, WireMessage>();
  shortened.set(message, known);
  const made = known.get(key) ?? { ...message, content: trimThinking(message.content.flatMap(change)) };
  known.set(key, made);
  return made;
}

function withoutBlocks(message: WireMessage, ids: readonly string[]): WireMessage {
  return shorten(message, ids.join(" "), (block) => removeFrom(block, ids));
}

function removeFrom(block: WireBlock, ids: readonly string[]): readonly WireBlock[] {
  const { type, id, tool_use_id: answered, caller } = block;
  if (type.endsWith("tool_use") && ids.includes(textOf(id))) return [];
  if (type.endsWith("tool_result") && ids.includes(textOf(answered))) return [];
  // The `caller` field names the server call whose code made this call, so it is removed together with the server call.
  if (!isRecord(caller) || !ids.includes(textOf(caller["tool_id"]))) return [block];
  const { caller: _removed, ...rest } = block;
  return [rest];
}

/**
 * Removes what the service refuses after a server-side fallback. The answer then contains the first model's blocks, the `fallback` block,
 * and the second model's blocks. The service refuses the first model's calls that were not answered in the same message, and their results
 * (github.com/code-yeongyu/senpi/issues/113 and 117). Without the beta, it refuses the block itself
 * (github.com/UKGovernmentBEIS/inspect_ai/issues/5335). The thinking is then removed too, because it comes from two models.
 */
function withoutDeclined(wire: readonly WireMessage[], { takes }: Accepted): readonly WireMessage[] {
  let declined: readonly string[] = [];
  return wire.map((message) => {
    if (message.role === "assistant") declined = readServerBlocks(message).declined;
    const rest = declined.length === 0 ? message : withoutBlocks(message, declined);
    if (takes("fallback") || !readServerBlocks(message).hasMarker) return rest;
    return shorten(rest, "fallback", (block) => (isMarker(block) || isThinkingBlock(block) ? [] : [block]));
  });
}

/** Removes the summary block if the request lacks its beta. Nothing is lost, because the request still contains the summarized messages. */
function withoutSummary(message: WireMessage, { takes }: Accepted): WireMessage {
  if (takes("compaction") || !readServerBlocks(message).hasSummary) return message;
  return shorten(message, "compaction", (block) => (isSummary(block) ? [] : [block]));
}

function isSummary({ type }: WireBlock): boolean {
  return type === "compaction";
}

function isMarker({ type }: WireBlock): boolean {
  return type === "fallback";
}

/**
 * In tool search results, keeps only references to the request's tools. The service refuses others
 * (github.com/code-yeongyu/senpi/issues/437). A result with no references left is removed.
 */
function withoutReferences(message: WireMessage, { hasTool }: Accepted): WireMessage {
  const gone = readServerBlocks(message).references.filter((name) => !hasTool(name));
  if (gone.length === 0) return message;
  return shorten(message, `references ${gone.join(" ")}`, (block) => {
    const all = listReferences(block);
    const left = all.filter((reference) => !gone.includes(nameOf(reference)));
    if (left.length === all.length) return [block];
    return left.length === 0 ? [] : [{ ...block, content: { ...recordOf(block["content"]), tool_references: left } as Json }];
  });
}

function listReferences({ type, content }: WireBlock): readonly unknown[] {
  return type === "tool_search_tool_result" ? listOf(recordOf(content)["tool_references"]) : [];
}

function nameOf(reference: unknown): string {
  return textOf(recordOf(reference)["tool_name"]);
}
