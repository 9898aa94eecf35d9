// Computes how a stored conversation changes when a run begins, ends, or is closed because another run begins. The functions of
// this file store nothing.

import {
  addCost,
  addUsage,
  invalidOption,
  type LoopResult,
  type Message,
  noUsage,
  type Usage,
  type UserMessage,
} from "../core/entry-kit.ts";
import { settleWaiting } from "../host/start-options.ts";
import type { ConversationChange, ConversationState, StoredConversation, StoredRun } from "./conversation-store.ts";

/** The usage and the cost of a conversation. */
export interface ConversationUsage {
  /** The sum over all runs whose usage is known. */
  readonly usage: Usage;
  /** The cost in USD. Undefined if the cost of any run is unknown. */
  readonly costUSD: number | undefined;
  /** The number of runs, including one that has not ended. */
  readonly runs: number;
}

export const emptyState: ConversationState = { runs: 0, usage: noUsage, costUSD: 0, undelivered: [] };
export const emptyConversation: StoredConversation = { messages: [], state: emptyState };

export interface Changed {
  readonly stored: StoredConversation;
  readonly change: ConversationChange;
  /** The change to make if the run rejects. Undefined to keep the conversation as it is. */
  readonly undo?: ConversationChange | undefined;
  /** The change to make if the run rejects before it has recorded anything. */
  readonly undoUnbegun?: ConversationChange | undefined;
}

interface NextRun {
  readonly runId: string;
  readonly recovered: Recovered | undefined;
}

export interface Recovered extends Pick<StoredRun, "usage" | "costUSD"> {
  readonly messages: readonly Message[];
}

/**
 * Closes `lastRun`, which must happen before another run begins. Ends calls that still wait, and adds the spending of the run to
 * the sums. `recovered` replaces the messages and the spending of an unfinished run.
 */
export function settleLastRun({ messages, state }: StoredConversation, recovered?: Recovered): Changed {
  const { lastRun, ...earlier } = state;
  if (lastRun === undefined) return { stored: { messages, state }, change: { from: messages.length, messages: [], state } };
  const isOpen = lastRun.status === "running" || lastRun.status === "suspended";
  const from = isOpen ? lastRun.start : messages.length;
  const own = (recovered?.messages ?? messages).slice(from).map(settleWaiting);
  const settled: ConversationState = {
    ...earlier,
    ...sumSpending(earlier, recovered ?? lastRun),
    compaction: lastRun.compaction ?? earlier.compaction,
    agent: lastRun.agent ?? earlier.agent,
    lastRequest: lastRun.lastRequest ?? earlier.lastRequest,
  };
  return {
    stored: { messages: [...messages.slice(0, from), ...own], state: settled },
    change: { from, messages: own, state: settled },
  };
}

export function beginRun(before: StoredConversation, given: readonly UserMessage[], { runId, recovered }: NextRun): Changed {
  const { stored, change } = settleLastRun(before, recovered);
  const { undelivered, runs, ...earlier } = stored.state;
  const added = [...undelivered, ...given];
  const messages = [...stored.messages, ...added];
  if (!isAnswerable(messages)) {
    throw invalidOption("message", "a message, because the conversation has no message that waits for an answer", undefined);
  }
  const lastRun: StoredRun = { runId, start: messages.length, status: "running" };
  const state: ConversationState = { ...earlier, runs: runs + 1, undelivered: [], lastRun };
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

/**
 * Marks `lastRun` as running again. `undo` removes the mark if the resumed run rejects, for example because of a wrong decision.
 */
export function reopenRun({ messages, state }: StoredConversation, lastRun: StoredRun): Changed {
  const { runId, start, usage } = lastRun;
  const reopened: ConversationState = { ...state, lastRun: { runId, start, usage, status: "running" } };
  const kept = { from: messages.length, messages: [] };
  return {
    stored: { messages, state: reopened },
    change: { ...kept, state: reopened },
    undo: { ...kept, state },
  };
}

/** Makes the change at the end of a run. The run began with the first `start` messages of the result. */
export function endRun({ state }: StoredConversation, start: number, result: LoopResult): ConversationChange {
  const { runId, status, reason, usage, costUSD, compaction, agent, cache, undelivered } = result;
  const late = reason.kind === "interrupted" ? [reason.message, ...undelivered] : undelivered;
  const lastRun: StoredRun = { runId, start, status, reason, usage, costUSD, compaction, agent, lastRequest: cache?.last };
  // Leaves out the user messages that an input guardrail has refused, because the guardrail would refuse a later run with these
  // messages too.
  const last = reason.kind === "input-guardrail" ? result.messages.findLastIndex(({ role }) => role !== "user") : undefined;
  const end = last === undefined ? result.messages.length : last + 1;
  return {
    from: Math.min(start, end),
    messages: result.messages.slice(start, Math.max(start, end)),
    state: { ...state, undelivered: [...state.undelivered, ...late], lastRun },
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
  const { compaction, agent, lastRequest, undelivered } = stored.state;
  const fits = compaction !== undefined && compaction.count <= atMessage;
  const state: ConversationState = {
    ...emptyState,
    ...(fits && { compaction }),
    ...(atMessage === length ? { agent, lastRequest, undelivered } : { undelivered: [] }),
  };
  return { from: 0, messages, state };
}

export function usageOf({ runs, lastRun, usage, costUSD }: ConversationState): ConversationUsage {
  return { ...(lastRun === undefined ? { usage, costUSD } : sumSpending({ usage, costUSD }, lastRun)), runs };
}

function sumSpending(
  { usage, costUSD }: Pick<ConversationState, "usage" | "costUSD">,
  run: Pick<StoredRun, "usage" | "costUSD">,
): Pick<ConversationUsage, "usage" | "costUSD"> {
  return { usage: addUsage(usage, run.usage ?? noUsage), costUSD: addCost(costUSD, run.costUSD) };
}
