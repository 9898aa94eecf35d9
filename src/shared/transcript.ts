import type { Message, UserMessage, ToolMessage } from "../core/types/message.ts";
import { freezeDeep, toJson } from "./json.ts";
import type { StreamResult } from "../core/types/provider.ts";
import type { ToolCall } from "../core/types/tool-outcome.ts";
import type { ContentPart, Json } from "../core/types/common.ts";
import type { CompactedMessages } from "../core/types/middleware-options.ts";
import { memoize } from "./promises.ts";
import { LoopError } from "./errors/loop-error.ts";
import { edges, type MessageProblem } from "./edges.ts";
import { isRecord, type UnknownRecord } from "./guards.ts";
import { toPlainError } from "./plain-error.ts";

const views = new WeakMap<readonly unknown[], readonly unknown[]>();

const sealed = new WeakSet<Message>();

export function seal<M extends Message>(message: M): M {
  sealed.add(message);
  return freezeDeep(message);
}

/** The number of nesting levels that a message adds around arguments and results. */
const envelope = 8;

/**
 * Returns a message that the caller cannot change: the same object if a run created it, otherwise a copy. Throws like `toJson`.
 */
export function sealedCopy(message: unknown): unknown {
  return sealed.has(message as Message) ? message : toJson(message, envelope);
}

/**
 * Returns a frozen copy of the transcript, which is cached until a message is added. Call `forgetView` after any other change.
 */
export function frozenView(messages: readonly Message[]): readonly Message[] {
  const known = views.get(messages) as readonly Message[] | undefined;
  if (known?.length === messages.length && known.at(-1) === messages.at(-1)) return known;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined || Object.isFrozen(message)) break;
    seal(message);
  }
  const view = Object.freeze([...messages]);
  views.set(messages, view);
  return view;
}

/** Removes the cached view. Must be called after every change to `messages`, except when a new message is added at the end. */
export function forgetView(messages: readonly Message[]): void {
  views.delete(messages);
}

export function lastUserText(messages: readonly Message[]): string {
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message?.role === "user") return userTextOf(message);
  }
  return "";
}

export function userTextOf({ content }: UserMessage): string {
  if (typeof content === "string") return content;
  return content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("\n");
}

/** Returns the content as parts. Empty text produces no parts. */
export function partsOf(content: UserMessage["content"]): readonly ContentPart[] {
  if (typeof content !== "string") return content;
  return content === "" ? [] : [{ type: "text", text: content }];
}

export const restartedResult: Json = { status: "context_restarted" };

/** False for a call without a name. Such a call cannot be sent to the model, so the transcript omits it. */
export function isNamed(call: ToolCall): boolean {
  return call.name.trim() !== "";
}

export function refusedAsTooLong({ reason }: Pick<StreamResult, "reason">): boolean {
  return reason?.kind === "provider-error" && reason.error.code === "context-too-long";
}

/**
 * Returns the messages in a request after a compaction: the kept messages, the summary, and the messages after the summarized
 * ones.
 */
export function toCompacted(messages: readonly Message[], compaction: CompactedMessages): readonly Message[] {
  const kept = compaction.kept.flatMap((index) => messages[index] ?? []);
  return Object.freeze([...kept, summaryMessageOf(compaction), ...messages.slice(compaction.count)]);
}

/** True if requests with this summary are valid: all kept messages exist, and no result is separated from its call. */
export function fitsMessages({ count, kept }: CompactedMessages, messages: readonly Message[]): boolean {
  const isCut = count <= messages.length && messages[count]?.role !== "tool";
  return isCut && kept.every((index) => messages[index]?.role === "user");
}

/** Returns the summary's message. Memoized, so that all requests with a summary contain the same object. */
const summaryMessageOf = /* @__PURE__ */ memoize(({ summary }: CompactedMessages): UserMessage =>
  seal({ role: "user", content: `${summaryTitle}\n${summary}` }),
);

export const summaryTitle = "Summary of the earlier conversation, which is no longer shown:";

/** The first line of the message with the context items. */
export const contextTitle = "Context:";

export interface CheckedMessages {
  readonly messages: readonly Message[];
  readonly heldIds: ReadonlySet<string>;
}

/** Checks and copies messages. Throws LoopError "invalid-messages" with the index of a message that cannot be sent. */
export function checkMessages(given: readonly unknown[]): CheckedMessages {
  const messages: Message[] = [];
  const heldIds = new Set<string>();
  /** The newest assistant message's calls that have no results yet. */
  const open = new Set<string>();
  for (const [index, value] of given.entries()) {
    const message = assertMessage(value, index);
    const results = takeResults(message, open, index);
    for (const callId of callIdsOf(message)) {
      if (heldIds.has(callId)) throw invalid(index, "reused-call-id");
      heldIds.add(callId);
      open.add(callId);
    }
    if (results?.length !== 0) messages.push(message);
  }
  if (open.size > 0) throw invalid(given.length - 1, "missing-results");
  if (messages.length === 0) throw invalid(0, "nothing-to-send");
  return { messages, heldIds };
}

function takeResults(message: Message, open: Set<string>, index: number): ToolMessage["results"] | undefined {
  const results = message.role === "tool" ? message.results : undefined;
  if (results?.every(({ callId }) => open.delete(callId)) === false) throw invalid(index, "unknown-result");
  if (open.size === 0) return results;
  throw results === undefined ? invalid(index - 1, "missing-results") : invalid(index, "missing-result");
}

function callIdsOf(message: Message): readonly string[] {
  if (message.role !== "assistant") return [];
  return message.content.flatMap((part) => (part.type === "tool-call" ? part.callId : []));
}

/** Converts a value to a user message. Returns undefined if it is not one. */
export function toUserMessage(given: unknown): UserMessage | undefined {
  try {
    const message = assertMessage(given, 0);
    return message.role === "user" ? message : undefined;
  } catch {
    return undefined;
  }
}

export function assertMessage(given: unknown, index: number): Message {
  let value: unknown;
  try {
    value = withTextPart(sealedCopy(given));
  } catch (error) {
    throw refuse(index, `cannot be written as JSON: ${toPlainError(error).message}`);
  }
  if (!isRecord(value)) throw invalid(index, "not-an-object");
  const problem = edges.findMessageProblem?.(value, given) ?? findShapeProblem(value);
  if (problem !== undefined) throw refuse(index, problem);
  return seal(value as unknown as Message);
}

/** Returns a problem with a message. In a small bundle without the full checks, looks only at the fields that the loop itself reads. */
function findShapeProblem({ role, content, results }: UnknownRecord): MessageProblem | undefined {
  if (role === "user") return undefined;
  return Array.isArray(role === "assistant" ? content : role === "tool" ? results : undefined) ? undefined : "role";
}

/** Converts an assistant message whose content is a string. In the transcript, the string becomes a text part. */
function withTextPart(value: unknown): unknown {
  if (!isRecord(value) || value["role"] !== "assistant" || typeof value["content"] !== "string") return value;
  const text = value["content"];
  return { ...value, content: text === "" ? [] : [{ type: "text", text }] };
}

export function invalid(index: number, problem: MessageProblem): LoopError<"invalid-messages"> {
  return refuse(index, edges.describeMessage?.(problem) ?? problem);
}

function refuse(index: number, problem: string): LoopError<"invalid-messages"> {
  return new LoopError("invalid-messages", { index, problem });
}
