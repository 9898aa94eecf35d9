// Decides which messages a conversation's next run begins with. Recognizes a web page's message by its id.

import type { EndReason, Json, Message, ProviderErrorCode, UserMessage } from "../core/index.ts";
import { invalidOption } from "../core/kit.ts";
import { isSameJson } from "../shared/json.ts";
import type { PageMessage } from "../web/read-user-message.ts";
import { findOwn, type Handover, trimHandover } from "./handover.ts";
import { settleWaiting } from "./waiting-calls.ts";

/** The new messages for a run. At most one field is set. If none is set, the last user message is answered again. */
export interface GivenMessages {
  readonly message?: PageMessage | undefined;
  /** Messages that replace the transcript. */
  readonly messages?: readonly Message[] | undefined;
}

export interface History {
  readonly messages: readonly Message[];
  readonly undelivered?: readonly UserMessage[] | undefined;
  readonly handover: Handover;
  /** The last run. Undefined if there has been no run yet. */
  readonly last?: (Parameters<typeof findOwn>[2] & { readonly runId: string; readonly own?: number | undefined }) | undefined;
  /** The messages that were sent to the last run while it worked. Some of them may not be in `messages`. */
  readonly steered?: readonly UserMessage[] | undefined;
}

/** The messages of a run, and the handover from the runs before it. */
export interface PlacedMessages {
  readonly messages: readonly Message[];
  readonly handover: Handover;
  /** The position of the first message that is removed from the conversation if an input check refuses the run. */
  readonly own: number;
  /** The number of messages at the beginning that the conversation already contains, unchanged. */
  readonly unchanged: number;
}

export type NextMessages =
  | ({ readonly kind: "next" } & PlacedMessages)
  /** The conversation already contains the message. If `isLast` is true, the last run is answering or has answered it. */
  | { readonly kind: "repeated"; readonly isLast: boolean }
  /** The page refers to a message that the conversation does not contain. */
  | { readonly kind: "unknown-message" };

/** Returns the messages with which a run begins. `denied` is true if the new message ends waiting calls. */
export function placeMessages(history: History, given: GivenMessages, denied: boolean): NextMessages {
  const { message, messages } = given;
  if (messages !== undefined) return replaceAll(history, messages);
  return message === undefined ? answerLast(history, denied) : placeMessage(history, message, denied);
}

function replaceAll({ messages: before, handover, last }: History, messages: readonly Message[]): NextMessages {
  const isContinued = isPrefix(before, messages);
  const added = messages.slice(before.length);
  const own = isContinued ? findOwn(before, added.length, last) : 0;
  if (isContinued) return { kind: "next", messages: [...before, ...added], handover, own, unchanged: before.length };
  const { compaction = { count: 0 } } = handover;
  // The summary may still be valid, because most programs leave the beginning of a conversation unchanged.
  const kept = isPrefix(before.slice(0, compaction.count), messages) ? handover : { ...handover, compaction: undefined };
  const { handoffs: _, ...rest } = trimHandover(kept, messages);
  return { kind: "next", messages, handover: rest, own: findOwn(messages, 0, undefined), unchanged: 0 };
}

function isPrefix(start: readonly Message[], whole: readonly Message[]): boolean {
  return start.length <= whole.length && start.every((message, index) => isSame(message, whole[index]));
}

function isSame(one: unknown, other: unknown): boolean {
  // Safe cast: messages are JSON data, except for the bytes of files. Two files are equal only if they share the same bytes object.
  return isSameJson(one as Json, other as Json);
}

/** True if a message replaces a part of the conversation. Such a message cannot be sent to a live run. */
export function isReplacing({ again, edited }: PageMessage): boolean {
  return again !== undefined || edited === true;
}

/** True if the same message arrived twice: both copies have the same id and the same content. */
export function isRepetition(one: UserMessage, other: UserMessage): boolean {
  return one.id !== undefined && one.id === other.id && isSame(one.content, other.content);
}

/** Returns the response to a message sent to a live run, if the run's transcript already contains a message with the same id. */
export function refuseKnown(messages: readonly Message[], given: UserMessage): "repeated" | "unknown-message" | undefined {
  const found = given.id === undefined ? undefined : findMessage(messages, given.id);
  if (found === undefined) return undefined;
  return isSame(found.message.content, given.content) ? "repeated" : "unknown-message";
}

function answerLast({ messages, undelivered = [], handover }: History, denied: boolean): NextMessages {
  const all: readonly Message[] = [...settleWaiting(messages, denied), ...undelivered];
  const last = all.findLastIndex(({ role }) => role === "user");
  if (last < 0) throw invalidOption("regenerate", "omitted because the conversation has no user message yet", true);
  return cutTo(handover, all.slice(0, last + 1));
}

/**
 * Returns the messages with which a run continues after a failed one. Keeps the results of calls, so that no call runs twice. Drops an
 * answer that was cut off.
 */
export function continueLast(history: History): NextMessages {
  const { messages, undelivered = [], handover, last } = history;
  const end = messages.findLastIndex(({ role }) => role !== "assistant") + 1;
  const all = [...messages.slice(0, end), ...undelivered];
  return { kind: "next", messages: all, handover: trimHandover(handover, all), own: findOwn(all, 0, last), unchanged: end };
}

/** Continues with the first messages of a conversation, up to a user message without an answer. */
function cutTo(handover: Handover, messages: readonly Message[]): NextMessages {
  const own = findOwn(messages, 0, undefined);
  const earlier = messages.slice(0, -1);
  // Limits the summary (`handover`) to the messages before the last one, because the last one may have been edited.
  return { kind: "next", messages, handover: trimHandover(handover, earlier), own, unchanged: earlier.length };
}

function placeMessage(history: History, given: PageMessage, denied: boolean): NextMessages {
  const found = given.id === undefined ? undefined : findMessage(allOf(history), given.id);
  if (found !== undefined) return placeKnown(history, { given, found, denied });
  const { again, edited, ...message } = given;
  return again === undefined && edited === undefined ? placeNew(history, message, denied) : { kind: "unknown-message" };
}

function placeNew(history: History, message: UserMessage, denied: boolean): NextMessages {
  const { messages, undelivered = [], steered = [], handover, last } = history;
  if ([...undelivered, ...steered].some((one) => isRepetition(one, message))) return { kind: "repeated", isLast: true };
  const added = [...undelivered, message];
  const own = findOwn(messages, added.length, last);
  return { kind: "next", messages: [...settleWaiting(messages, denied), ...added], handover, own, unchanged: messages.length };
}

interface Found {
  readonly index: number;
  readonly message: UserMessage;
}

interface Placing {
  readonly given: PageMessage;
  readonly found: Found;
  readonly denied: boolean;
}

function placeKnown(history: History, { given, found, denied }: Placing): NextMessages {
  // Does not let a web page replace a pinned message, because it may contain the application's rules.
  if (found.message.pinned === true) return { kind: "unknown-message" };
  const { again, edited: _, ...message } = given;
  const isUnchanged = isSame(found.message.content, message.content);
  if (isUnchanged && again === undefined) return placeRepeated(history, found, denied);
  const isLast = isOfLastRun(history, found);
  if (isLast && found.index < history.messages.length && isReplaced(history, again)) return { kind: "repeated", isLast };
  if (!isReplacing(given)) return { kind: "unknown-message" };
  const kept = isUnchanged ? found.message : message;
  return answerAgain(history, { index: found.index, message: kept }, { denied, isKept: isUnchanged });
}

function placeRepeated(history: History, found: Found, denied: boolean): NextMessages {
  if (found.index >= history.messages.length) return placeWaiting(history, denied);
  return { kind: "repeated", isLast: isOfLastRun(history, found) };
}

/** Answers a message again. `isKept` is true if the page requests a new answer to an unchanged message. */
function answerAgain(
  history: History,
  found: Found,
  { denied, isKept }: { readonly denied: boolean; readonly isKept: boolean },
): NextMessages {
  if (isKept && hasBroken(history, found)) return continueLast(history);
  return cutTo(history.handover, [...settleWaiting(allOf(history).slice(0, found.index), denied), found.message]);
}

function allOf({ messages, undelivered = [] }: History): readonly Message[] {
  return [...messages, ...undelivered];
}

/** Places a message that the last run did not receive. That run receives it if it continues; otherwise, the next run begins with it. */
function placeWaiting({ messages, undelivered = [], handover, last }: History, denied: boolean): NextMessages {
  if (last?.status === "running" || last?.status === "suspended") return { kind: "repeated", isLast: true };
  const own = findOwn(messages, undelivered.length, last);
  return {
    kind: "next",
    messages: [...settleWaiting(messages, denied), ...undelivered],
    handover,
    own,
    unchanged: messages.length,
  };
}

function isOfLastRun({ messages, last }: History, found: Found): boolean {
  return last !== undefined && (found.index >= (last.own ?? messages.length) || isLastOfUser(messages, found));
}

function isLastOfUser(messages: readonly Message[], { index }: Found): boolean {
  return !messages.slice(index + 1).some(({ role }) => role === "user");
}

/** Errors that the same request would cause again. The incomplete answer is then discarded instead of continued. */
const lastingErrors: ReadonlySet<string> = new Set<ProviderErrorCode>([
  "bad-request",
  "context-too-long",
  "request-changed",
  "content-filter",
  "malformed-call",
]);

const brokenStreams: ReadonlySet<string> = new Set<EndReason["kind"]>(["stream-idle", "first-chunk", "stream-too-long"]);

/**
 * True if the message's run failed after a call, so there is no answer to replace. The calls must not run twice: after an error, a
 * page offers a "try again" button, and `useChat` then requests a new answer.
 */
function hasBroken(history: History, found: Found): boolean {
  const { messages, last } = history;
  if (last === undefined || !isLastOfUser(allOf(history), found)) return false;
  if (!messages.slice(found.index + 1).some(({ role }) => role === "tool")) return false;
  const { status, reason } = last;
  if (reason?.kind === "provider-error") return !lastingErrors.has(reason.error.code);
  return status === "running" || (reason !== undefined && brokenStreams.has(reason.kind));
}

/** True if the answer to replace has already been replaced, which means that the page sent its request twice. */
function isReplaced({ last }: History, again: PageMessage["again"]): boolean {
  return last !== undefined && typeof again === "string" && isEarlierRun(again, last.runId);
}

/** Matches ids that `toUIMessages`, `toAGUIMessages` and `toAGUIThread` assign to user messages that have no id. */
const placePattern = /^(?:history-|.*:message-)(\d{1,9})$/s;

function findMessage(messages: readonly Message[], id: string): Found | undefined {
  const own = messages.findLastIndex((message) => message.role === "user" && message.id === id);
  const index = own >= 0 ? own : Number(placePattern.exec(id)?.[1] ?? Number.NaN);
  const message = messages[index];
  return message?.role === "user" && (own >= 0 || message.id === undefined) ? { index, message } : undefined;
}

/** True if the id belongs to an earlier run. Run ids end with a slash and the run's number. */
function isEarlierRun(id: string, last: string): boolean {
  const end = last.lastIndexOf("/") + 1;
  const number = id.startsWith(last.slice(0, end)) ? id.slice(end) : "";
  return /^\d{1,9}$/.test(number) && Number(number) < Number(last.slice(end));
}
