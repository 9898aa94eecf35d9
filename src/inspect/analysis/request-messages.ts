// Reads the messages of a run's requests, and finds masked results and summaries among them.

import type { Message, ToolResultPart } from "../../core/index.ts";
import { contextTitle, summaryTitle } from "../../shared/transcript.ts";
import type { LoggedIteration, LoggedRequest, LoggedRun } from "../../shared/run-log.ts";
import { isSameText } from "./json-parts.ts";

/** The ids of the calls whose results were cleared. */
export type MaskedCalls = Pick<ReadonlySet<string>, "has">;

/**
 * Finds the calls whose results were cleared. Returns, by call id, the first iteration whose request no longer contains the
 * result.
 */
export function findMasking(run: Pick<LoggedRun, "lines">): ReadonlyMap<string, number> {
  const masking = new Map<string, number>();
  for (const { type, iteration, calls } of run.lines) {
    if (type !== "masked" || typeof iteration !== "number" || !Array.isArray(calls)) continue;
    for (const callId of calls) if (typeof callId === "string" && !masking.has(callId)) masking.set(callId, iteration);
  }
  return masking;
}

export function maskedUpTo(masking: ReadonlyMap<string, number>, iteration: number): MaskedCalls {
  return { has: (callId) => (masking.get(callId) ?? Infinity) <= iteration };
}

/** Returns a call's result from the first request that contains it, or undefined. */
export function findOriginal(run: Pick<LoggedRun, "iterations">, callId: string): ToolResultPart | undefined {
  for (const { request } of run.iterations) {
    const messages: readonly Message[] = request ? [...request.replaced.map(([, message]) => message), ...request.added] : [];
    for (const message of messages) {
      const found = message.role === "tool" ? message.results.find((part) => part.callId === callId) : undefined;
      if (found !== undefined) return found;
    }
  }
  return undefined;
}

/** True for the summary that replaces old messages in a request. */
export function isSummary(message: Message | undefined): boolean {
  return beginsWith(message, summaryTitle);
}

function beginsWith(message: Message | undefined, title: string): boolean {
  return message?.role === "user" && typeof message.content === "string" && message.content.startsWith(title);
}

/**
 * True if the messages of the previous request, from its first change on, are only its moving end: the message with the context items, or
 * one message that became longer, because the service paused it.
 */
export function isMovedEnd([first, ...others]: readonly Message[], next: Message | undefined): boolean {
  if (others.length < 2 && beginsWith(first, `${contextTitle}\n`)) return true;
  const text = JSON.stringify(first ?? "").replace(/["\]}]+$/, "");
  return others.length === 0 && JSON.stringify(next ?? "").startsWith(text);
}

/**
 * Returns the messages that the previous request does not contain. After a compaction, `request.added` also contains messages that only
 * moved.
 */
export function newMessagesOf(request: LoggedRequest, before: LoggedRequest | undefined): readonly Message[] {
  const { added, keptCount } = request;
  if (before === undefined || keptCount === before.messageCount) return added;
  const known = before.messages();
  return added.filter((message) => !known.some((other) => isSameText(message, other)));
}

export interface RequestStep {
  readonly iteration: LoggedIteration;
  readonly request: LoggedRequest;
  /** The iteration with the previous request. Undefined for the first request. */
  readonly previous: LoggedIteration | undefined;
  /** The first position at which a message from the previous request was replaced or removed. Undefined if all were kept. */
  readonly firstChange: number | undefined;
  /** The previous request's messages, starting at `firstChange`. Empty if `firstChange` is undefined. */
  readonly before: readonly Message[];
  /** All messages of the request. The next step changes this list, so copy it to keep it. */
  readonly messages: readonly Message[];
  /** The positions of the replaced and the added messages. */
  readonly touched: readonly number[];
}

export function* walkRequests(run: Pick<LoggedRun, "iterations">): Generator<RequestStep> {
  const messages: Message[] = [];
  let previous: LoggedIteration | undefined;
  for (const iteration of run.iterations) {
    const { request } = iteration;
    if (request === undefined) continue;
    const { keptCount, replaced, added } = request;
    const cut = keptCount < messages.length ? [keptCount] : [];
    const changes = [...replaced.map(([index]) => index), ...cut];
    const firstChange = changes.length === 0 ? undefined : changes.reduce((least, index) => Math.min(least, index));
    const before = firstChange === undefined ? [] : messages.slice(firstChange);
    const touched = [...replaced.map(([index]) => index), ...added.map((_message, at) => keptCount + at)];
    messages.length = Math.min(keptCount, messages.length);
    for (const [index, message] of replaced) messages[index] = message;
    for (const message of added) messages.push(message);
    yield { iteration, request, previous, firstChange, before, messages, touched };
    previous = iteration;
  }
}
