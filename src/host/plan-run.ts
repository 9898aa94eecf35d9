// Plans how a run starts or resumes. Nothing is stored until the run's journal is open.

import { inspectJournal, type JournalInspection } from "../journal/index.ts";
import type { LoopStatus } from "../core/index.ts";
import { addedBy, beginPlaced, type Changed, findUnsent, handoverOf, reopenRun } from "../conversation/conversation-state.ts";
import { type Recovered, recoverRun } from "../conversation/around-run.ts";
import type { StoredConversation, StoredRun } from "../conversation/conversation-store.ts";
import { addReport, noHandover, reopenable, withHandover, withoutRefused } from "../conversation/handover.ts";
import { type History, type NextMessages, placeMessages } from "../conversation/next-messages.ts";
import { waitingError, type WhenSuspended } from "../conversation/waiting-calls.ts";
import { repairMessages } from "../shared/repair-messages.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { waitingCallsOf, withoutRepeats } from "../shared/wait-ids.ts";
import type { BoundStore } from "./bound-store.ts";
import type { ExecutionPlan } from "./execute-run.ts";
import type { HostedLoopOptions, HostedStatus, ResumeAnswer, ResumeOptions, StartAnswer } from "./run-host.ts";
import type { RunLog } from "./run-log.ts";
import type { RunTurn } from "./run-turn.ts";
import type { ReadStart } from "./start-options.ts";

export interface RunPlan extends ExecutionPlan {
  /** How the conversation changes when the run begins. */
  readonly changed: Changed;
  /** True if the message is a repetition, so no new turn begins. Default false. */
  readonly isRepeated?: boolean | undefined;
}

type Journals = Pick<BoundStore, "journal" | "removeJournal">;

export interface Starting {
  readonly id: string;
  readonly turn: RunTurn;
  readonly given: ReadStart;
  readonly whenSuspended: WhenSuspended;
}

/** An answer from `start` that changes nothing. */
export type UnstartedAnswer = Extract<StartAnswer, { readonly kind: "waiting" | "repeated" | "unknown-message" }>;

export async function planStart(
  journals: Journals,
  starting: Starting,
  stored: StoredConversation,
): Promise<RunPlan | UnstartedAnswer> {
  const { id, turn, given, whenSuspended } = starting;
  const { lastRun, runs } = stored.state;
  const isCut = lastRun?.status === "running";
  const recovered = isCut ? await recoverRun(journals.journal(lastRun.runId), stored, lastRun) : undefined;
  const history = toHistory(stored, recovered);
  const calls = waitingCallsOf(lastRun?.reason);
  const placed = placeMessages(history, given, calls.length > 0);
  if (placed.kind === "repeated") return planRepeated(journals, starting, { stored, isLast: placed.isLast });
  if (placed.kind === "unknown-message") return placed;
  const runId = lastRun?.runId ?? "";
  if (calls.length > 0 && whenSuspended !== "deny") return { kind: "waiting", runId, calls, error: waitingError(id, calls) };
  turn.number = runs + 1;
  turn.runId = `${id}/${turn.number}`;
  // A run that was interrupted before it recorded anything may have left calls without results, so its messages are repaired.
  const repaired = isCut && given.messages === undefined ? repair(placed) : placed;
  const { epoch } = turn.log;
  const listsJournals = journals.removeJournal !== undefined;
  return {
    loop: withHandover(given.loop, placed.handover),
    messages: repaired.messages,
    journal: journals.journal(turn.runId),
    isResumed: false,
    isContinued: false,
    changed: beginPlaced(stored, repaired, { runId: turn.runId, listsJournals, epoch }),
  };
}

type Placed = Extract<NextMessages, { readonly kind: "next" }>;

function repair(placed: Placed): Placed {
  const messages = repairMessages(placed.messages);
  return { ...placed, messages, own: placed.own + messages.length - placed.messages.length };
}

/** Returns the history for the next run. `recovered` contains the last run's messages and facts if a crash interrupted that run. */
function toHistory({ messages, state }: StoredConversation, recovered: Recovered | undefined): History {
  const { lastRun } = state;
  const { handover, report, added } = recovered ?? { handover: handoverOf(state), report: lastRun ?? noHandover, added: [] };
  const undelivered = lastRun?.status === "running" ? findUnsent(lastRun.steered, added) : state.undelivered;
  return {
    messages: recovered?.messages ?? messages,
    undelivered,
    handover: addReport(handover, report),
    last: lastRun,
    steered: lastRun?.steered,
  };
}

/**
 * Plans the answer to a message that the conversation already contains. The message's run continues, or is read again from its journal, so
 * that a web page whose connection broke receives the answer.
 */
async function planRepeated(
  journals: Journals,
  { turn, given }: Starting,
  { stored, isLast }: { readonly stored: StoredConversation; readonly isLast: boolean },
): Promise<RunPlan | UnstartedAnswer> {
  const { lastRun } = stored.state;
  const repeated = { kind: "repeated", runId: lastRun?.runId ?? "" } as const;
  if (!isLast || lastRun === undefined) return repeated;
  const inspection = await inspectJournal(journals.journal(lastRun.runId)).catch(unlessMissing);
  const isRecorded = inspection !== undefined && inspection.status !== "not-started";
  // A run that has ended but has no records cannot be read again, because a new execution would start it from the beginning.
  if (!isRecorded && lastRun.status !== "running") return repeated;
  const loop = reopenable.has(lastRun.status) ? { ...given.loop, resume: "retry-last" as const } : given.loop;
  return { ...(await planReading(journals, { turn, loop, lastRun }, stored)), isRepeated: true };
}

interface Resuming {
  readonly turn: RunTurn;
  readonly loop: Omit<ResumeOptions, "stopWhenUnread">;
  /** Returns the run's events so far, or undefined if this process does not have them. */
  takeLog(number: number, epoch: string | undefined): RunLog | undefined;
}

export async function planResume(
  journals: Journals,
  resuming: Resuming,
  stored: StoredConversation,
): Promise<RunPlan | Extract<ResumeAnswer, { readonly kind: "not-resumable" }>> {
  const { lastRun } = stored.state;
  const { loop } = resuming;
  if (lastRun === undefined) return { kind: "not-resumable", status: undefined };
  if (isRepeatedDecision(stored, loop))
    return planReading(journals, { ...resuming, loop: { ...loop, resume: "retry-last" }, lastRun }, stored);
  if (!mayGoOn(lastRun.status, loop)) return { kind: "not-resumable", status: lastRun.status as LoopStatus };
  return planReading(journals, { ...resuming, lastRun }, stored);
}

interface JournalReading extends Omit<Resuming, "takeLog">, Partial<Pick<Resuming, "takeLog">> {
  readonly lastRun: StoredRun;
}

/** Plans to read the last run from its journal. If the run has not ended, it continues after its records. */
async function planReading(
  journals: Journals,
  { turn, loop, lastRun, takeLog }: JournalReading,
  stored: StoredConversation,
): Promise<RunPlan> {
  const { runId, status, start, steered } = lastRun;
  turn.number = stored.state.runs;
  turn.runId = runId;
  const journal = journals.journal(runId);
  const inspecting = inspectJournal(journal);
  // An interrupted run's journal may be missing. The conversation still contains the run's first messages.
  const inspection = await (status === "running" ? inspecting.catch(unlessMissing) : inspecting);
  const messages = status === "running" ? stored.messages.slice(0, start) : (inspection?.initialMessages ?? []);
  turn.isReplay = !mayGoOn(statusOf(status, inspection), loop);
  if (!turn.isReplay) for (const message of findUnsent(steered, addedBy(inspection))) turn.control.steer(message);
  const log = takeLog?.(turn.number, lastRun.epoch);
  if (log !== undefined) turn.log = log;
  // Removes undelivered messages from the state, because the resumed run gets them, or returns them again.
  const open = { messages: stored.messages, state: { ...stored.state, undelivered: [] } };
  const { undo: _, ...changed } = reopenRun(open, lastRun, turn.log.epoch);
  return {
    loop: withHandover(loop, handoverOf(stored.state)),
    messages,
    journal,
    isResumed: true,
    isContinued: log !== undefined,
    changed: { ...changed, undo: { from: stored.messages.length, messages: [], state: stored.state } },
  };
}

type StoredEnd = Pick<HostedStatus, "status" | "reason" | "messages">;

/**
 * Returns how the last run ended. The returned messages end with those that the run did not receive, unless it may still receive them. If
 * the run's process died before it stored the ending, the ending is read from the journal.
 */
export async function readEnding({ journal }: Journals, stored: StoredConversation, lastRun: StoredRun): Promise<StoredEnd> {
  const { runId, status, reason, own = 0, steered } = lastRun;
  const { messages, state } = stored;
  if (status === "suspended") return { status, reason, messages };
  if (status !== "running") return { status, reason, messages: [...messages, ...state.undelivered] };
  const found = await inspectJournal(journal(runId));
  if (found.status === "running" || found.status === "not-started") return readLive(stored, lastRun);
  const left = withoutRefused(found, own);
  const late = found.status === "suspended" ? [] : findUnsent(steered, addedBy(found));
  return { status: found.status, reason: found.reason, messages: [...left, ...late] };
}

/** Returns the state during a live run, when the transcript contains only the messages that the run began with. */
export function readLive({ messages }: StoredConversation, { status, reason, start }: StoredRun): StoredEnd {
  return { status, reason, messages: messages.slice(0, start) };
}

/**
 * Returns the run's status. Reads it from the journal if necessary, because the process may have died after the run ended but before its
 * end was stored.
 */
function statusOf(status: StoredRun["status"], run: JournalInspection | undefined): StoredRun["status"] {
  return status !== "running" || run === undefined || run.status === "not-started" ? status : run.status;
}

function mayGoOn(status: StoredRun["status"], { resume }: HostedLoopOptions): boolean {
  return status === "running" || status === "suspended" || (resume === "retry-last" && reopenable.has(status));
}

/**
 * True if the same decisions arrive again, because the run failed after it had used them. The run then tries again, as for a
 * message that arrives again. The run itself refuses decisions that it has not used.
 */
function isRepeatedDecision({ messages, state }: StoredConversation, { answers = {} }: ResumeOptions): boolean {
  const { status, own = 0 } = state.lastRun ?? {};
  const ids = Object.keys(answers);
  if (ids.length === 0 || (status !== "error" && status !== "timeout")) return false;
  const results = messages.slice(own).flatMap((message) => (message.role === "tool" ? message.results : []));
  const called = new Set(results.map(({ callId }) => callId));
  return ids.every((id) => called.has(withoutRepeats(id).replace(/\/.*$/s, "")));
}
