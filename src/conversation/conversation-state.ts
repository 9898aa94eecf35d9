// Computes how a stored conversation changes when a run begins, receives a message, ends, or is closed by the next run. Stores nothing
// itself.

import { invalidOption } from "../core/kit.ts";
import type { StopRequest } from "../core/types/loop-options.ts";
import type { LoopResult, Message, UserMessage } from "../core/index.ts";
import type { JournalInspection } from "../journal/index.ts";
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
} from "./handover.ts";
import { isRepetition, type PlacedMessages } from "./next-messages.ts";
import { settleWaiting } from "./waiting-calls.ts";
import { refused } from "./check-id.ts";
import type {
  ConversationChange,
  ConversationState,
  ConversationTurn,
  StoredConversation,
  StoredJournal,
  StoredRun,
} from "./conversation-store.ts";

export const emptyState: ConversationState = { ...noHandover, runs: 0, undelivered: [] };
export const emptyConversation: StoredConversation = { messages: [], state: emptyState };

type Turns = readonly ConversationTurn[] | undefined;

/** Returns the part of a conversation's state that each run hands over to the next. */
export function handoverOf(state: ConversationState): Handover {
  const { runs: _, undelivered: _undelivered, lastRun: _lastRun, journals: _journals, turns: _turns, ...handover } = state;
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

/**
 * Closes `lastRun`, which must happen before another run begins. Ends calls that are still waiting, and adds the run's report to the
 * handover. `recovered` replaces the messages and the report of an unfinished run.
 */
export function settleLastRun({ messages, state }: StoredConversation, recovered?: Left, denied: boolean = false): Changed {
  const { lastRun, runs, undelivered, journals, turns } = state;
  if (lastRun === undefined) return { stored: { messages, state }, change: { from: messages.length, messages: [], state } };
  const isOpen = lastRun.status === "running" || lastRun.status === "suspended";
  const kept = recovered?.messages ?? messages;
  // Limits the start position, because a run refused by an input check may have fewer messages than it began with.
  const from = isOpen ? Math.min(lastRun.start, kept.length) : messages.length;
  const own = settleWaiting(kept.slice(from), denied);
  const handover = addReport(recovered?.handover ?? handoverOf(state), recovered?.report ?? lastRun);
  const settled: ConversationState = { ...handover, runs, undelivered, journals, ...(turns && { turns }) };
  return {
    stored: { messages: [...messages.slice(0, from), ...own], state: settled },
    change: { from, messages: own, state: settled },
  };
}

interface NextRun extends Pick<BeginningRun, "runId" | "listsJournals"> {
  /** The id of the conversation. */
  readonly id: string;
  /** True if the new message ends waiting calls. */
  readonly denied: boolean;
  /** The messages and the handover of a run that was cut off, from its journal. */
  readonly recovered: Left | undefined;
}

/** Begins a run with new messages. Messages that the conversation already contains are not added again. */
export function beginRun(
  before: StoredConversation,
  given: readonly UserMessage[],
  { id, recovered, denied, ...run }: NextRun,
): Changed {
  const { messages: earlier, state } = settleLastRun(before, recovered, denied).stored;
  const { undelivered } = state;
  const known = [...earlier, ...undelivered].filter(({ role }) => role === "user") as readonly UserMessage[];
  const added = [...undelivered, ...given.filter((message) => !known.some((one) => isRepetition(one, message)))];
  const messages = [...earlier, ...added];
  if (!isAnswerable(messages)) {
    const isRepeated = given.length > 0 && added.length === 0;
    if (isRepeated) throw refused(id, "has already answered this message. Read it with messages()");
    throw invalidOption("message", "a new message because the conversation has no unanswered message", undefined);
  }
  const own = findOwn(earlier, added.length, before.state.lastRun);
  return beginPlaced(before, { messages, handover: handoverOf(state), own, unchanged: earlier.length }, run);
}

function isAnswerable(messages: readonly Message[]): boolean {
  const last = messages.at(-1);
  return last !== undefined && last.role !== "assistant";
}

interface BeginningRun {
  readonly runId: string;
  /** Set to true to list the run's journal in the conversation's state, so that the journal can be removed later. */
  readonly listsJournals: boolean;
  /** Identifies the run's events. Set only by a run host. The conversation then also lists its turns. */
  readonly epoch?: string | undefined;
}

/** Begins a run with messages whose positions in the conversation are already known. */
export function beginPlaced(before: StoredConversation, placed: PlacedMessages, run: BeginningRun): Changed {
  const { messages, handover, own, unchanged } = placed;
  const { runId, listsJournals, epoch } = run;
  const { runs, journals, turns } = before.state;
  const number = runs + 1;
  const isKept = (message: Message, index: number): boolean => message === messages[index];
  const changed = before.messages.findIndex((message, index) => !isKept(message, index));
  const from = changed < 0 ? before.messages.length : changed;
  const kept = epoch === undefined && turns === undefined ? undefined : keepTurns(turns ?? [], unchanged);
  const lastRun: StoredRun = { runId, start: messages.length, own, status: "running", ...(epoch && { epoch }) };
  // Adds the journal to the list before the run begins, because the process may be killed during the run.
  const listed = listsJournals ? [...(journals ?? []), { runId, number }] : journals;
  const state: ConversationState = {
    ...handover,
    runs: number,
    undelivered: [],
    journals: listed,
    ...(kept && { turns: kept }),
    lastRun,
  };
  return {
    stored: { messages, state },
    change: { from, messages: messages.slice(from), state },
    undoUnbegun: { from, messages: before.messages.slice(from), state: before.state },
  };
}

/** Returns the turns whose answers are in the first `length` messages. A steered message may split an answer. */
function keepTurns(turns: readonly ConversationTurn[], length: number): readonly ConversationTurn[] {
  return turns.flatMap((turn) => (turn.from >= length ? [] : [{ ...turn, to: Math.min(turn.to, length) }]));
}

/** Ends a suspended run and its waiting calls. */
export function cancelRun(
  { messages, state }: StoredConversation,
  lastRun: StoredRun,
  { requester, note }: StopRequest = {},
): ConversationChange {
  const { start } = lastRun;
  const ending = { status: "stopped-by-user", reason: { kind: "stopped", requester, note } } as const;
  const turns = state.turns?.map((turn) => (turn.runId === lastRun.runId ? { ...turn, ...ending } : turn));
  const cancelled: StoredRun = { ...lastRun, ...ending };
  return {
    from: start,
    messages: settleWaiting(messages.slice(start), true),
    state: { ...state, lastRun: cancelled, ...(turns && { turns }) },
  };
}

/**
 * Marks `lastRun` as running again. `undo` removes the mark if the resumed run rejects, for example because of an invalid decision.
 */
export function reopenRun({ messages, state }: StoredConversation, lastRun: StoredRun, epoch?: string): Changed {
  const { runId, start, own, usage, steered } = lastRun;
  const hosted = { ...(epoch && { epoch }), ...(steered && { steered }) };
  const reopened: ConversationState = { ...state, lastRun: { runId, start, own, usage, status: "running", ...hosted } };
  const kept = { from: messages.length, messages: [] };
  return {
    stored: { messages, state: reopened },
    change: { ...kept, state: reopened },
    undo: { ...kept, state },
  };
}

/** Stores a message that is sent to the live run. */
export function steerRun({ messages, state }: StoredConversation, message: UserMessage): Changed {
  const { lastRun } = state;
  const steered = [...(lastRun?.steered ?? []), message];
  const changed: ConversationState = { ...state, ...(lastRun && { lastRun: { ...lastRun, steered } }) };
  return { stored: { messages, state: changed }, change: { from: messages.length, messages: [], state: changed } };
}

interface EndedRun {
  /** The number of messages that the run began with. */
  readonly start: number;
  readonly result: LoopResult;
  readonly journals: readonly StoredJournal[] | undefined;
}

/** Returns the change to store at the end of a run. */
export function endRun({ state }: StoredConversation, { start, result, journals }: EndedRun): ConversationChange {
  const { runId, status, reason, usage, costUSD } = result;
  const { lastRun: { own = start, steered, epoch } = {}, runs, undelivered, turns } = state;
  const { messages, handover, report } = leaveRun(result, { own, handover: handoverOf(state) });
  const from = Math.min(start, messages.length);
  const hosted = { ...(steered && { steered }), ...(epoch && { epoch }) };
  const lastRun: StoredRun = { runId, start: from, own, status, reason, ...report, ...hosted };
  const turn = { runId, from, to: messages.length, status, reason, usage, costUSD };
  const late = withoutSteered(lateMessagesOf(result), steered);
  // Finds the user messages that the run never sent to the model. `late` above leaves them out, because a resumed run may return them
  // again.
  const unsent = findUnsent(steered, result.messages.slice(start));
  return {
    from,
    messages: messages.slice(start),
    state: {
      ...handover,
      runs,
      undelivered: [...undelivered, ...unsent, ...late],
      journals,
      ...(turns && { turns: [...endTurns(turns, runId, from), turn] }),
      lastRun,
    },
  };
}

function endTurns(turns: readonly ConversationTurn[], runId: string, from: number): NonNullable<Turns> {
  return keepTurns(
    turns.filter((one) => one.runId !== runId),
    from,
  );
}

/**
 * Returns the messages that were sent to the live run (`steered`) but are missing from its transcript. Compares them in order, because the
 * run receives them in order. A message can be missing although the run has read it, for example if the run was stopped before it sent the
 * message to the model.
 */
export function findUnsent(steered: readonly UserMessage[] = [], own: readonly Message[]): readonly UserMessage[] {
  const sent = own.filter(({ role }) => role === "user");
  let from = 0;
  return steered.filter((message) => {
    const index = sent.findIndex((one, at) => at >= from && isSameUserMessage(one as UserMessage, message));
    if (index >= 0) from = index + 1;
    return index < 0;
  });
}

/** Returns the messages that a run has added to those it began with. */
export function addedBy(run: Pick<JournalInspection, "messages" | "initialMessages"> | undefined): readonly Message[] {
  return run === undefined ? [] : run.messages.slice(run.initialMessages.length);
}

/** Returns the messages in `late` that are not in `steered`, such as messages for nested runs. */
function withoutSteered(late: readonly UserMessage[], steered: readonly UserMessage[] = []): readonly UserMessage[] {
  return late.filter((message) => !steered.some((one) => isSameUserMessage(one, message)));
}

/** True if two user messages are equal. For files, only the types are compared, because a journal may store their bytes in a different form. */
function isSameUserMessage(one: UserMessage, other: UserMessage): boolean {
  return one.id === other.id && (one.id !== undefined || outlineOf(one) === outlineOf(other));
}

function outlineOf({ content }: UserMessage): string {
  if (typeof content === "string") return JSON.stringify([content]);
  return JSON.stringify(content.map((part) => (part.type === "text" ? part.text : { type: part.type })));
}

/**
 * Creates the first change of a fork. The fork's usage and cost begin at 0, because the original conversation has already counted
 * the copied runs.
 */
export function forkAt({ stored }: Changed, atMessage: number = stored.messages.length): ConversationChange {
  const { length } = stored.messages;
  if (atMessage > length) throw invalidOption("atMessage", `at most ${length} (the number of messages)`, atMessage);
  const messages = stored.messages.slice(0, atMessage);
  const last = messages.at(-1);
  if (last?.role === "assistant" && last.content.some(({ type }) => type === "tool-call")) {
    throw invalidOption("atMessage", "a position that does not separate a tool call from its result", atMessage);
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

/** Returns a conversation's journals. Adds the journal of the last run, which is missing from states that an earlier version stored. */
export function listJournals({ journals = [], lastRun }: ConversationState): readonly { readonly runId: string }[] {
  return lastRun === undefined || journals.some(({ runId }) => runId === lastRun.runId) ? journals : [...journals, lastRun];
}
