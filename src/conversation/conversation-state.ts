// Computes how a stored conversation changes when a run begins, ends, or is closed because another run begins. The functions of
// this file store nothing.

import { invalidOption } from "../core/kit.ts";
import type { LoopResult, Message, UserMessage } from "../core/index.ts";
import {
  addReport,
  type ConversationUsage,
  findOwn,
  type Handover,
  lateMessagesOf,
  leaveRun,
  type Left,
  noHandover,
  toUsage,
  trimHandover,
} from "../host/handover.ts";
import { isRepetition } from "../host/next-messages.ts";
import { settleWaiting } from "../host/waiting-calls.ts";
import { refused } from "./check-id.ts";
import type { ConversationChange, ConversationState, StoredConversation, StoredRun } from "./conversation-store.ts";

export const emptyState: ConversationState = { ...noHandover, runs: 0, undelivered: [] };
export const emptyConversation: StoredConversation = { messages: [], state: emptyState };

type StoredJournals = ConversationState["journals"];

/** Returns the facts that the runs of a conversation hand on, without the other fields of its state. */
export function handoverOf(state: ConversationState): Handover {
  const { runs: _, undelivered: _undelivered, lastRun: _lastRun, journals: _journals, ...handover } = state;
  return handover;
}

export interface Changed {
  readonly stored: StoredConversation;
  readonly change: ConversationChange;
  /** The change to make if the run rejects. Undefined to keep the conversation as it is. */
  readonly undo?: ConversationChange | undefined;
  /** The change to make if the run rejects before it has recorded anything. */
  readonly undoUnbegun?: ConversationChange | undefined;
}

interface NextRun {
  /** The id of the conversation. */
  readonly id: string;
  readonly runId: string;
  /** True if the new message ends waiting calls. */
  readonly denied: boolean;
  /** The messages and facts of a run that was cut off, from its journal. */
  readonly recovered: Left | undefined;
  /** True to list the journal of the run, so that it can be removed. */
  readonly listsJournals: boolean;
}

/**
 * Closes `lastRun`, which must happen before another run begins. Ends calls that still wait, and adds the report of the run to the
 * handover. `recovered` replaces the messages and the report of an unfinished run.
 */
export function settleLastRun({ messages, state }: StoredConversation, recovered?: Left, denied: boolean = false): Changed {
  const { lastRun, runs, undelivered, journals } = state;
  if (lastRun === undefined) return { stored: { messages, state }, change: { from: messages.length, messages: [], state } };
  const isOpen = lastRun.status === "running" || lastRun.status === "suspended";
  const kept = recovered?.messages ?? messages;
  // The messages of a run that its input check has refused may be fewer than those that it began with.
  const from = isOpen ? Math.min(lastRun.start, kept.length) : messages.length;
  const own = settleWaiting(kept.slice(from), denied);
  const handover = addReport(recovered?.handover ?? handoverOf(state), recovered?.report ?? lastRun);
  const settled: ConversationState = { ...handover, runs, undelivered, journals };
  return {
    stored: { messages: [...messages.slice(0, from), ...own], state: settled },
    change: { from, messages: own, state: settled },
  };
}

export function beginRun(
  before: StoredConversation,
  given: readonly UserMessage[],
  { id, runId, recovered, denied, listsJournals }: NextRun,
): Changed {
  const { stored, change } = settleLastRun(before, recovered, denied);
  const { undelivered, runs, ...earlier } = stored.state;
  const known = [...stored.messages, ...undelivered].filter(({ role }) => role === "user") as readonly UserMessage[];
  const added = [...undelivered, ...given.filter((message) => !known.some((one) => isRepetition(one, message)))];
  const messages = [...stored.messages, ...added];
  if (!isAnswerable(messages)) {
    const isRepeated = given.length > 0 && added.length === 0;
    if (isRepeated) throw refused(id, "has answered this message already. Read the answer with messages()");
    throw invalidOption("message", "a message, because the conversation has no message that waits for an answer", undefined);
  }
  const own = findOwn(stored.messages, added.length, before.state.lastRun);
  const lastRun: StoredRun = { runId, start: messages.length, own, status: "running" };
  const number = runs + 1;
  // Listed before the run begins, because its process may be killed.
  const journals = listsJournals ? [...(earlier.journals ?? []), { runId, number }] : earlier.journals;
  const state: ConversationState = { ...earlier, runs: number, undelivered: [], journals, lastRun };
  return {
    stored: { messages, state },
    change: { from: change.from, messages: [...change.messages, ...added], state },
    undoUnbegun: { from: change.from, messages: before.messages.slice(change.from), state: before.state },
  };
}

function isAnswerable(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last !== undefined && last.role !== "assistant";
}

/** Ends a suspended run, and the calls that wait. */
export function cancelRun({ messages, state }: StoredConversation, lastRun: StoredRun): ConversationChange {
  const { start } = lastRun;
  const own = settleWaiting(messages.slice(start), true);
  const cancelled: StoredRun = { ...lastRun, status: "stopped-by-user", reason: { kind: "stopped" } };
  return { from: start, messages: own, state: { ...state, lastRun: cancelled } };
}

/**
 * Marks `lastRun` as running again. `undo` removes the mark if the resumed run rejects, for example because of a wrong decision.
 */
export function reopenRun({ messages, state }: StoredConversation, lastRun: StoredRun): Changed {
  const { runId, start, own, usage } = lastRun;
  const reopened: ConversationState = { ...state, lastRun: { runId, start, own, usage, status: "running" } };
  const kept = { from: messages.length, messages: [] };
  return {
    stored: { messages, state: reopened },
    change: { ...kept, state: reopened },
    undo: { ...kept, state },
  };
}

/** Makes the change at the end of a run. The run began with the first `start` messages of the result. */
export function endRun(
  { state }: StoredConversation,
  { start, result, journals }: { readonly start: number; readonly result: LoopResult; readonly journals: StoredJournals },
): ConversationChange {
  const { runId, status, reason } = result;
  const { lastRun: { own = start } = {}, runs, undelivered } = state;
  const { messages, handover, report } = leaveRun(result, { own, handover: handoverOf(state) });
  const lastRun: StoredRun = { runId, start: Math.min(start, messages.length), own, status, reason, ...report };
  return {
    from: lastRun.start,
    messages: messages.slice(start),
    state: { ...handover, runs, undelivered: [...undelivered, ...lateMessagesOf(result)], journals, lastRun },
  };
}

/**
 * Makes the first change of a fork. The usage and the cost of the fork begin at 0, because the original conversation has counted
 * the copied runs.
 */
export function forkAt({ stored }: Changed, atMessage: number = stored.messages.length): ConversationChange {
  const { length } = stored.messages;
  if (atMessage > length) throw invalidOption("atMessage", `at most ${length}, the number of messages`, atMessage);
  const messages = stored.messages.slice(0, atMessage);
  const last = messages.at(-1);
  if (last?.role === "assistant" && last.content.some(({ type }) => type === "tool-call")) {
    throw invalidOption("atMessage", "a number of messages that does not separate a tool call from its result", atMessage);
  }
  const { undelivered } = stored.state;
  const handover = handoverOf(stored.state);
  const isWhole = atMessage === length;
  const { usage: _usage, costUSD: _cost, knownCostUSD: _known, ...kept } = isWhole ? handover : trimHandover(handover, messages);
  const state: ConversationState = { ...emptyState, ...kept, undelivered: isWhole ? undelivered : [] };
  return { from: 0, messages, state };
}

export function usageOf(state: ConversationState): ConversationUsage {
  return toUsage(addReport(handoverOf(state), state.lastRun ?? noHandover), state.runs);
}
