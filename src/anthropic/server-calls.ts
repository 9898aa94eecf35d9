// Calls of tools that the service runs. A call is open if its message does not have its result. The service answers an open call at
// the beginning of the next assistant message. Until then, it accepts nothing but the results of the run's own tools
// (github.com/anthropics/anthropic-sdk-typescript/issues/1090).

import { isRecord, memoize, type Message, textOf } from "../core/provider-kit.ts";
import type { WireBlock, WireMessage } from "./messages-options.ts";
import { trimThinking } from "./provider-metadata.ts";

interface ServerCall {
  readonly id: string;
  readonly name: string;
  readonly isOpen: boolean;
}

interface ServerBlocks {
  readonly calls: readonly ServerCall[];
  /** The ids of calls in earlier messages whose results are in this message. */
  readonly answers: readonly string[];
}

const none: ServerBlocks = { calls: [], answers: [] };

const readServerBlocks = /* @__PURE__ */ memoize(({ role, content }: WireMessage): ServerBlocks => {
  if (role === "user") return none;
  const calls = content.filter(isServerCall);
  const results = content.filter(isServerResult).map((block) => textOf(block.tool_use_id));
  if (calls.length + results.length === 0) return none;
  const ids = new Set(calls.map(({ id }) => textOf(id)));
  return {
    calls: calls.map(({ id, name }) => ({ id: textOf(id), name: textOf(name), isOpen: !results.includes(textOf(id)) })),
    answers: results.filter((id) => !ids.has(id)),
  };
});

function isServerCall({ type }: WireBlock): boolean {
  return type.endsWith("_tool_use");
}

function isServerResult({ type }: WireBlock): boolean {
  return type.endsWith("_tool_result");
}

/**
 * Removes blocks of server tools that the service would refuse: open calls that the next assistant message does not answer, and
 * results without their call. An open call is also removed if a user message follows, because the model would not read that message
 * before it has answered. If the request does not declare the tool, the service refuses an open call at the end. It also refuses the
 * results of a tool search at any place, because they refer to tools.
 */
export function closeServerCalls(
  messages: readonly Message[],
  wire: readonly WireMessage[],
  declares: (name: string) => boolean,
): readonly WireMessage[] {
  const awaited = new Set<string>();
  return wire.map((message, at) => {
    if (message.role === "user") return message;
    const { calls, answers } = readServerBlocks(message);
    // The final message is one that the service has just paused.
    if (calls.length + answers.length === 0 || (at === wire.length - 1 && answers.length === 0)) return message;
    const removed = new Set(answers.filter((id) => !awaited.delete(id)));
    let next = at + 1;
    while (messages[next]?.role === "tool") next += 1;
    const follower = toFollower(messages[next], wire[next]);
    for (const call of calls) {
      if (!canStay(call, follower, declares)) removed.add(call.id);
      else if (call.isOpen) awaited.add(call.id);
    }
    return removed.size === 0 ? message : withoutBlocks(message, [...removed]);
  });
}

/** The ids that the next user or assistant message answers. Undefined if there is none, so that the service answers open calls now. */
type Follower = readonly string[] | undefined;

function toFollower(message: Message | undefined, wire: WireMessage | undefined): Follower {
  return message === undefined || wire === undefined ? undefined : readServerBlocks(wire).answers;
}

function canStay({ id, name, isOpen }: ServerCall, follower: Follower, declares: (name: string) => boolean): boolean {
  if (isOpen && follower !== undefined && !follower.includes(id)) return false;
  const needsTool = name.startsWith("tool_search") || (isOpen && follower === undefined);
  return !needsTool || declares(name);
}

const shortened = new WeakMap<WireMessage, Map<string, WireMessage>>();

/** Returns the same object for the same arguments, because cache marks compare messages by identity. */
function withoutBlocks(message: WireMessage, ids: readonly string[]): WireMessage {
  const known = shortened.get(message) ?? new Map<string, WireMessage>();
  shortened.set(message, known);
  const key = ids.join(" ");
  const made = known.get(key) ?? {
    ...message,
    content: trimThinking(message.content.flatMap((block) => removeFrom(block, ids))),
  };
  known.set(key, made);
  return made;
}

function removeFrom(block: WireBlock, ids: readonly string[]): readonly WireBlock[] {
  const { type, id, tool_use_id: answered, caller } = block;
  if (type.endsWith("_tool_use") && ids.includes(textOf(id))) return [];
  if (type.endsWith("_tool_result") && ids.includes(textOf(answered))) return [];
  // A call of the run's own tool may name the server call whose code made it.
  if (!isRecord(caller) || !ids.includes(textOf(caller["tool_id"]))) return [block];
  const { caller: _removed, ...rest } = block;
  return [rest];
}
