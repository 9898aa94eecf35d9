// Finds the tool results that the masking policy has cleared.

import { type Message, type ToolResultPart, summaryTitle } from "../../core/entry-kit.ts";
import type { LoggedRun, LoggedRequest, LoggedIteration } from "../log/run-log.ts";
import { isSameText } from "./json-parts.ts";

/** The ids of the calls whose results were masked. */
export type MaskedCalls = Pick<ReadonlySet<string>, "has">;

/** Returns the iteration before which the result of each masked call was cleared, by call id. */
export function findMasking(run: Pick<LoggedRun, "lines">): ReadonlyMap<string, number> {
  const masking = new Map<string, number>();
  for (const { type, iteration, calls } of run.lines) {
    if (type !== "masked" || typeof iteration !== "number" || !Array.isArray(calls)) continue;
    for (const callId of calls) if (typeof callId === "string" && !masking.has(callId)) masking.set(callId, iteration);
  }
  return masking;
}

/** Returns the calls whose results are masked in the requests of an iteration. */
export function maskedUpTo(masking: ReadonlyMap<string, number>, iteration: number): MaskedCalls {
  return { has: (callId) => (masking.get(callId) ?? Infinity) <= iteration };
}

/** Returns the result of a call as the first request had it, or undefined if no request had it. */
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

/** True for the message that a request has in place of old messages. */
export function isSummary(message: Message | undefined): boolean {
  return message?.role === "user" && typeof message.content === "string" && message.content.startsWith(summaryTitle);
}

/** Returns the new messages of a request. After a compaction, messages of the previous request have other positions. */
export function newMessagesOf(request: LoggedRequest, before: LoggedRequest | undefined): readonly Message[] {
  const { added, keptCount } = request;
  if (before === undefined || keptCount === before.messageCount) return added;
  const known = before.messages();
  return added.filter((message) => !known.some((other) => isSameText(message, other)));
}

/** A change of the messages from one request to the next. */
export interface RequestStep {
  readonly iteration: LoggedIteration;
  readonly request: LoggedRequest;
  /** The iteration with the previous request. Undefined for the first request. */
  readonly previous: LoggedIteration | undefined;
  /** The first position at which a message of the previous request was replaced or removed. Undefined if there is no such message. */
  readonly firstChange: number | undefined;
  /** The messages of the previous request from `firstChange` on. Empty if it is undefined. */
  readonly before: readonly Message[];
  /** All messages. The list is changed by the next step, so copy what you keep. */
  readonly messages: readonly Message[];
  /** The positions of messages that are new in this request, and the length of the previous list. */
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
