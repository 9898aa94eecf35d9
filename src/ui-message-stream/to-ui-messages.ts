import type { AssistantMessage, Json, LoopEvents, Message, ToolResultPart, UserMessage } from "../core/index.ts";
import { checkFields, hasSucceeded, is, listSources, type ToolCallPart } from "../core/kit.ts";
import type { UserPart } from "../core/types/common.ts";
import { locateMedia } from "../shared/media-source.ts";
import { isWaiting, toCallFailureText } from "../web/page-values.ts";
import { findLostMessages, type LostContent } from "../shared/history/find-lost.ts";
import { readEach } from "../shared/history/read-history.ts";
import { toMetadata } from "./ending-chunks.ts";
import { readUIMessages } from "./read-ui-messages.ts";
import type { UIUserPart, UIVersion } from "./ui-message-chunk.ts";
import { messageChecks, type UIMessageOptions } from "./ui-message-options.ts";

// Declares the message types instead of importing them, because the types of `ai` differ between its versions.

/**
 * A `useChat` message, created from a transcript. `Version` is the major version of the `ai` package that the page uses. The type
 * can be assigned to the `UIMessage` of that version.
 */
export interface UIMessage<Version extends UIVersion = UIVersion> {
  readonly id: string;
  readonly role: "user" | "assistant";
  /** A user message's own `metadata`, or the status, reason, usage and cost of an answer's run (from `turns`). */
  metadata?: { readonly [field: string]: unknown };
  parts: UIMessagePart<Version>[];
}

/** A part of a UI message. */
export type UIMessagePart<Version extends UIVersion = UIVersion> =
  | UIUserPart
  | { type: "text" | "reasoning"; text: string; state: "done" }
  | { type: "step-start" }
  /** A web page that the answer cites. */
  | { type: "source-url"; sourceId: string; url: string; title?: string }
  | UIToolPart
  | (Version extends 6 | 7 ? UIDeniedPart : never);

/** A tool call. `providerExecuted` marks a call that ran on the server, so that the page does not send its result back. */
export type UIToolPart = UICalled &
  ({ state: "input-available" } | { state: "output-available"; output: Json } | { state: "output-error"; errorText: string });

/** A tool call that was denied. In version 5 of the AI SDK, such a call has the state `output-error` instead. */
export type UIDeniedPart = UICalled & { state: "output-denied"; approval: { id: string; approved: false } };

/** The fields that all tool calls have. */
export interface UICalled {
  type: `tool-${string}`;
  toolCallId: string;
  input: Json;
  providerExecuted: true;
}

/** The options for `toUIMessages`. */
export interface UIHistoryOptions extends Pick<UIMessageOptions, "version" | "sendReasoning" | "onError"> {
  /**
   * The id prefix for messages that have no id. It is followed by "-" and the position of the message in the transcript. A host recognizes
   * these ids only with the default prefix. Default "history".
   */
  readonly idPrefix?: string | undefined;
  /**
   * The conversation's runs: the `turns` from `host.status(id)`. The last message of each run then has the `runId` as its id, and
   * the same metadata as at the end of its stream. Default: no metadata.
   */
  readonly turns?: readonly UITurn[] | undefined;
}

/** One run of a conversation. Its messages are those from position `from` up to, but not including, position `to`. */
export interface UITurn extends Pick<LoopEvents["run-end"], "status" | "reason" | "usage" | "costUSD"> {
  readonly runId: string;
  readonly from: number;
  readonly to: number;
}

/** A transcript as `useChat` messages. */
export interface UIHistory<Version extends UIVersion = UIVersion> {
  readonly messages: UIMessage<Version>[];
  /** Content that the messages cannot represent. Empty if `fromUIMessages` can restore the transcript. */
  readonly lost: readonly LostContent[];
}

/**
 * Converts a transcript to `useChat` messages, for a page that loads an old conversation. All assistant messages up to the next user
 * message become one message. Messages that the loop wrote in the user role are shown as user messages. Provider metadata and files in tool
 * results are omitted, but cited web pages become parts of type "source-url". A waiting call has the state "input-available", because the
 * page receives the request for a decision from the run's stream.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * const { messages } = await runToolLoop({ provider, tools, messages: history });
 * const { messages: shown } = toUIMessages(messages, { version: 7 });
 */
export function toUIMessages<Version extends UIVersion = 6>(
  messages: readonly Message[],
  options: UIHistoryOptions & { readonly version?: Version | undefined } = {},
): UIHistory<Version> {
  const { version, sendReasoning, onError } = messageChecks;
  checkFields("options", options, { version, sendReasoning, onError, idPrefix: is.name, turns: ["an array", Array.isArray] });
  const lost = findLostMessages(messages, {
    joins: [],
    write: (unit) => writeUIMessages(unit, options),
    read: (shown) => readUIMessages(readEach(shown), undefined).draft.finish(undefined).messages,
    keepsMetadata: () => false,
  });
  return { messages: writeUIMessages(messages, options), lost };
}

export function writeUIMessages(messages: readonly Message[], options: UIHistoryOptions): UIMessage[] {
  const { idPrefix = "history" } = options;
  const shown: UIMessage[] = [];
  for (const [index, message] of messages.entries()) {
    const id = `${idPrefix}-${index}`;
    if (message.role === "user") shown.push(toUser(message, id));
    else if (message.role === "assistant") {
      const last = shown.at(-1);
      const answer = last?.role === "assistant" ? last : beginAnswer(messages, index, { ...options, idPrefix });
      if (answer !== last) shown.push(answer);
      const next = messages[index + 1];
      const step = toStep(message, { id: answer.id, results: next?.role === "tool" ? next.results : [] }, options);
      for (const part of step) answer.parts.push(part);
    }
  }
  return shown;
}

function beginAnswer(
  messages: readonly Message[],
  index: number,
  { idPrefix, turns = [] }: UIHistoryOptions & { readonly idPrefix: string },
): UIMessage {
  const turn = findTurn(messages, index, turns);
  if (turn === undefined) return { id: `${idPrefix}-${index}`, role: "assistant", parts: [] };
  return { id: turn.runId, role: "assistant", metadata: toMetadata(turn, {}), parts: [] };
}

function toUser({ id: own, content, metadata }: UserMessage, id: string): UIMessage {
  return { id: own ?? id, role: "user", parts: toFilledParts(content), ...(metadata !== undefined && { metadata }) };
}

/** Returns the run whose answer begins at a position and is not continued after a later user message. */
function findTurn(messages: readonly Message[], index: number, turns: readonly UITurn[]): UITurn | undefined {
  const turn = turns.find(({ from, to }) => from <= index && index < to);
  const isSplit = messages.slice(index, turn?.to).some(({ role }) => role === "user");
  return isSplit ? undefined : turn;
}

/** Converts a message's content to parts. Returns at least one, because `useChat` rejects a message without parts. */
function toFilledParts(content: string | readonly UserPart[]): UIMessagePart[] {
  return toUserParts(content.length === 0 ? "" : content);
}

interface Step {
  /** The message's id. Every call id in the message begins with this id, because call ids are unique only within a run. */
  readonly id: string;
  readonly results: readonly ToolResultPart[];
}

function toStep(message: AssistantMessage, { id, results }: Step, options: UIHistoryOptions): UIMessagePart[] {
  const parts: UIMessagePart[] = [{ type: "step-start" }];
  for (const part of message.content) {
    if (part.type === "tool-call") {
      const result = results.find(({ callId }) => callId === part.callId);
      parts.push(toToolPart(part, { toolCallId: `${id}:${part.callId}`, result }, options));
    } else if (part.type === "text" || options.sendReasoning !== false)
      parts.push({ type: part.type, text: part.text, state: "done" });
  }
  for (const { url, title } of listSources([message]))
    parts.push({ type: "source-url", sourceId: url, url, ...(title !== undefined && { title }) });
  return parts;
}

interface Called {
  readonly toolCallId: string;
  readonly result: ToolResultPart | undefined;
}

function toToolPart(call: ToolCallPart, { toolCallId, result }: Called, options: UIHistoryOptions): UIMessagePart {
  const { name, args, approvedArgs = args } = call;
  const called = { type: `tool-${name}`, toolCallId, input: approvedArgs, providerExecuted: true } as const;
  const { outcome, result: output } = result ?? { outcome: "not-run" as const, result: null };
  if (hasSucceeded({ outcome })) return { ...called, state: "output-available", output };
  if (isWaiting({ outcome })) return { ...called, state: "input-available" };
  if (outcome === "denied" && options.version !== 5)
    return { ...called, state: "output-denied", approval: { id: toolCallId, approved: false } };
  const errorText = toCallFailureText({ name, outcome, result: output }, options.onError);
  return { ...called, state: "output-error", errorText };
}

export function toUserParts(content: string | readonly UserPart[]): UIUserPart[] {
  if (typeof content === "string") return [{ type: "text", text: content }];
  return content.map((part) => {
    if (part.type === "text") return { type: "text", text: part.text };
    const media = locateMedia(part);
    const { mediaType, filename } = media;
    const file = { type: "file", mediaType, ...(filename === undefined ? {} : { filename }) } as const;
    if (media.kind === "url") return { ...file, url: media.url };
    if (media.kind === "base64") return { ...file, url: `data:${mediaType};base64,${media.data}` };
    return { ...file, url: typeof part.data === "string" ? part.data : part.data.href };
  });
}
