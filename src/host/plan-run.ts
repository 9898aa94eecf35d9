import { isLoopError, type LoopStatus, type UserMessage } from "../core/index.ts";
import { repairMessages } from "../shared/repair-messages.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { inspectJournal, type JournalInspection } from "../journal/index.ts";
import type { ExecutionPlan } from "./execute-run.ts";
import type { BoundStore, Unlock } from "./bound-store.ts";
import {
  addReport,
  type Handover,
  leaveCutOff,
  noHandover,
  reopenable,
  type RunReport,
  withHandover,
  withoutRefused,
} from "./handover.ts";
import { type History, type NextMessages, placeMessages } from "./next-messages.ts";
import type { HostedLoopOptions, ResumeAnswer, ResumeOptions, StartAnswer } from "./run-host.ts";
import type { RunLog } from "./run-log.ts";
import type { ConversationRecord, RunStore } from "./run-store.ts";
import type { RunTurn } from "./run-turn.ts";
import type { ReadStart } from "./start-options.ts";
import { waitingCallsOf, waitingError, type WhenSuspended } from "./waiting-calls.ts";

export class BusyError extends Error {}

/** A planned start or resume. Nothing is written to the store until the journal of the run is open. */
export interface RunPlan extends Omit<ExecutionPlan, "wrapOptions"> {
  /** The record to restore if the resume is refused. */
  readonly previous: ConversationRecord | undefined;
  /** True if the message is a repetition, so that no new turn begins. Default false. */
  readonly isRepeated?: boolean | undefined;
  /** The journal of the previous run stays locked until the new run has begun. `release` releases this lock. */
  release(): Promise<void>;
}

const noRelease = (): Promise<void> => Promise.resolve();

/** The stored record of a conversation, which no other process changes before `release`. */
export interface LockedRecord {
  readonly record: ConversationRecord | undefined;
  release(): Promise<void>;
}

/**
 * Reads the record of a conversation, and locks the journal of its last run. Each process that changes the record holds this lock, so
 * that two processes cannot both begin the next run. Rejects with BusyError if another process was faster, or with "journal-locked".
 */
export async function lockRecord(store: BoundStore, id: string): Promise<LockedRecord> {
  const record = await store.read(id);
  if (record === undefined) return { record, release: noRelease };
  const unlock = await lockJournal(store, id, record);
  let isHeld = true;
  const release = async (): Promise<void> => {
    if (isHeld) await store.close(unlock);
    isHeld = false;
  };
  if (record.status !== "running") return { record, release };
  try {
    // The run may have ended in another process since the record was read.
    const now = await store.read(id);
    if (now?.runs === record.runs) return { record: now, release };
    throw new BusyError("Another process has the conversation.");
  } catch (error) {
    await release();
    throw error;
  }
}

/** A journal that cannot be opened, for example because it is damaged, is needed only if its run has not ended. */
async function lockJournal(store: BoundStore, id: string, { runs, status }: ConversationRecord): Promise<Unlock> {
  try {
    return await store.lock(id, runs);
  } catch (error) {
    if (status === "running" || status === "suspended" || isLoopError(error, "journal-locked")) throw error;
    return noRelease;
  }
}

export interface Starting {
  readonly id: string;
  readonly turn: RunTurn;
  readonly given: ReadStart;
  readonly whenSuspended: WhenSuspended;
}

/** An answer of `start` that changes nothing. */
export type UnstartedAnswer = Extract<StartAnswer, { readonly kind: "waiting" | "repeated" | "unknown-message" }>;

export async function planStart(store: BoundStore, starting: Starting): Promise<RunPlan | UnstartedAnswer> {
  const { record, release } = await lockRecord(store, starting.id);
  let planned: RunPlan | UnstartedAnswer | undefined;
  try {
    const { history, isCut } = await readHistory(store, starting.id, record);
    planned = await planNext(store, starting, { record, history, isCut, release });
    return planned;
  } finally {
    if (planned === undefined || "kind" in planned || planned.isResumed) await release();
  }
}

interface FoundHistory extends ReadHistory, LockedRecord {}

async function planNext(store: RunStore, starting: Starting, found: FoundHistory): Promise<RunPlan | UnstartedAnswer> {
  const { id, turn, given, whenSuspended } = starting;
  const { record, history } = found;
  const calls = record === undefined ? [] : waitingCallsOf(record);
  const placed = placeMessages(history, given, calls.length > 0);
  if (placed.kind === "repeated") return planRepeated(store, starting, { ...found, isLast: placed.isLast });
  if (placed.kind === "unknown-message") return placed;
  const runId = `${id}/${record?.runs ?? 0}`;
  if (calls.length > 0 && whenSuspended !== "deny") return { kind: "waiting", runId, calls, error: waitingError(id, calls) };
  return planNew(store, { id, turn, given, placed }, found);
}

interface NewRun extends Pick<Starting, "id" | "turn" | "given"> {
  readonly placed: Extract<NextMessages, { readonly kind: "next" }>;
}

function planNew(store: RunStore, { id, turn, given, placed }: NewRun, { record, isCut, release }: FoundHistory): RunPlan {
  const { messages, handover, own, unchanged } = placed;
  const number = (record?.runs ?? 0) + 1;
  turn.number = number;
  turn.runId = `${id}/${number}`;
  const turns = keepTurns(record?.turns, unchanged);
  const begun = { runs: number, messages, own, handover, turns, journals: record?.journals };
  // If the run recorded nothing before the crash, its messages may still have calls without results.
  const sent = isCut && given.messages === undefined ? repairMessages(messages) : messages;
  const journal = store.journal(id, number);
  return {
    loop: withHandover(given.loop, handover),
    messages: sent,
    journal,
    isResumed: false,
    isContinued: false,
    previous: undefined,
    claim: () => claim(store, { id, turn, before: record, begun }),
    release,
  };
}

/**
 * Plans the answer to a message that the conversation has already. The run of this message continues, or is read again from its
 * journal, so that a page whose connection broke gets the answer.
 */
async function planRepeated(
  store: RunStore,
  { id, turn, given }: Starting,
  { record, isLast, release }: FoundHistory & { readonly isLast: boolean },
): Promise<RunPlan | UnstartedAnswer> {
  const repeated = { kind: "repeated", runId: `${id}/${record?.runs ?? 0}` } as const;
  if (!isLast || record === undefined) return repeated;
  await release();
  const inspection = await inspectJournal(store.journal(id, record.runs)).catch(unlessMissing);
  const isRecorded = inspection !== undefined && inspection.status !== "not-started";
  // Without its records, an ended run would begin again.
  if (!isRecorded && record.status !== "running") return repeated;
  const loop = reopenable.has(record.status) ? { ...given.loop, resume: "retry-last" as const } : given.loop;
  return { ...(await planReading(store, { id, turn, loop }, record)), isRepeated: true };
}

/** Returns the runs whose answers are in the first `length` messages. An answer may be cut at a message that was steered. */
export function keepTurns(turns: ConversationRecord["turns"], length: number): ConversationRecord["turns"] {
  return turns?.flatMap((turn) => (turn.from >= length ? [] : [{ ...turn, to: Math.min(turn.to, length) }]));
}

interface ReadHistory {
  readonly history: History;
  readonly isCut: boolean;
}

async function readHistory(store: RunStore, id: string, record: ConversationRecord | undefined): Promise<ReadHistory> {
  if (record === undefined) return { history: { messages: [], handover: noHandover }, isCut: false };
  if (record.status === "running") return readCutOff(store, id, record);
  const { messages, undelivered, handover = noHandover, report = {} } = record;
  return { history: { messages, undelivered, ...toHandedOn(id, record, { handover, report }) }, isCut: false };
}

function toHandedOn(
  id: string,
  { runs, status, reason, own, steered }: ConversationRecord,
  { handover, report }: { readonly handover: Handover; readonly report: RunReport },
): Pick<History, "handover" | "last" | "steered"> {
  return { handover: addReport(handover, report), last: { runId: `${id}/${runs}`, status, reason, own }, steered };
}

/** Reads the messages of a run that was cut off by a crash. */
async function readCutOff(store: RunStore, id: string, record: ConversationRecord): Promise<ReadHistory> {
  const { messages, steered = [], own = 0, handover = noHandover } = record;
  const found = await inspectJournal(store.journal(id, record.runs));
  const undelivered = findUnsent(steered, found);
  const left = leaveCutOff(found, { messages, own, handover });
  return { history: { messages: left.messages, undelivered, ...toHandedOn(id, record, left) }, isCut: true };
}

interface Resuming {
  readonly id: string;
  readonly turn: RunTurn;
  readonly loop: Omit<ResumeOptions, "stopWhenUnread">;
  /** Returns the events of the run so far, or undefined if this process does not have them. */
  takeLog(number: number, epoch: string | undefined): RunLog | undefined;
}

export async function planResume(
  store: BoundStore,
  { id, turn, loop, takeLog }: Resuming,
): Promise<RunPlan | Extract<ResumeAnswer, { readonly kind: "not-resumable" }>> {
  const record = await store.read(id);
  if (record !== undefined && isRepeatedDecision(record, loop))
    return planReading(store, { id, turn, loop: { ...loop, resume: "retry-last" }, takeLog }, record);
  if (record === undefined || !mayGoOn(record.status, loop)) return { kind: "not-resumable", status: toStatus(record) };
  return planReading(store, { id, turn, loop, takeLog }, record);
}

/** Plans to read the last run from its journal. If the run has not ended, it continues after its records. */
async function planReading(
  store: RunStore,
  { id, turn, loop, takeLog }: Omit<Resuming, "takeLog"> & Partial<Pick<Resuming, "takeLog">>,
  record: ConversationRecord,
): Promise<RunPlan> {
  const { runs, status, steered = [], own, handover = noHandover, turns, journals } = record;
  turn.number = runs;
  turn.runId = `${id}/${runs}`;
  const journal = store.journal(id, runs);
  const inspecting = inspectJournal(journal);
  // A run that was cut off has its first messages in the record, so its journal may be missing.
  const inspection = await (status === "running" ? inspecting.catch(unlessMissing) : inspecting);
  const messages = status === "running" ? record.messages : (inspection?.initialMessages ?? []);
  turn.isReplay = !mayGoOn(statusOf(record, inspection), loop);
  if (!turn.isReplay) for (const message of findUnsent(steered, inspection)) turn.control.steer(message);
  const log = takeLog?.(runs, record.epoch);
  if (log !== undefined) turn.log = log;
  const begun = { runs, messages, steered, own, handover, turns, journals };
  return {
    loop: withHandover(loop, handover),
    messages,
    journal,
    isResumed: true,
    isContinued: log !== undefined,
    previous: record,
    claim: () => claim(store, { id, turn, before: record, begun }),
    release: noRelease,
  };
}

interface Claiming extends Pick<Starting, "id" | "turn"> {
  readonly before: ConversationRecord | undefined;
  readonly begun: Omit<ConversationRecord, "status" | "epoch">;
}

/** Stores that the run has begun. */
async function claim(store: RunStore, { id, turn, before, begun }: Claiming): Promise<void> {
  await checkUnchanged(store, id, before);
  turn.record = { ...begun, status: "running", epoch: turn.log.epoch };
  await store.write(id, turn.record);
}

type StoredEnd = Pick<ConversationRecord, "status" | "reason" | "messages" | "undelivered">;

/** Returns how the last run has ended. Its messages end with those that it did not get, unless it may still get them. */
export async function readEnding(store: RunStore, id: string, record: ConversationRecord): Promise<StoredEnd> {
  const ended = await readEnded(store, id, record);
  const { status, messages, undelivered = [] } = ended;
  return status === "running" || status === "suspended" ? ended : { ...ended, messages: [...messages, ...undelivered] };
}

/** If the process of the run died before it stored the ending in the record, reads the ending from the journal. */
async function readEnded(store: RunStore, id: string, record: ConversationRecord): Promise<StoredEnd> {
  if (record.status !== "running") return record;
  const found = await inspectJournal(store.journal(id, record.runs));
  const { status, reason } = found;
  if (status === "running" || status === "not-started") return record;
  const messages = withoutRefused(found, record.own ?? 0);
  return { status, reason, messages, undelivered: findUnsent(record.steered ?? [], found) };
}

/**
 * Returns the steered messages that are not in the transcript of the run. The run gets them in order. It may have read a message from
 * its inbox without sending it, for example before it was suspended or stopped.
 */
export function findUnsent(
  steered: readonly UserMessage[],
  run: Pick<JournalInspection, "messages" | "initialMessages"> | undefined,
): readonly UserMessage[] {
  const sent = (run?.messages ?? []).slice(run?.initialMessages.length ?? 0).filter(({ role }) => role === "user");
  let from = 0;
  return steered.filter((message) => {
    const index = sent.findIndex((one, at) => at >= from && isSameUserMessage(one as UserMessage, message));
    if (index >= 0) from = index + 1;
    return index < 0;
  });
}

/** Returns the messages of `late` that are not in `steered`, such as those for nested runs. */
export function withoutSteered(late: readonly UserMessage[], steered: readonly UserMessage[]): readonly UserMessage[] {
  return late.filter((message) => !steered.some((one) => isSameUserMessage(one, message)));
}

/** Compares files only by their types, because a journal may keep their bytes in another form. */
function isSameUserMessage(one: UserMessage, other: UserMessage): boolean {
  return one.id === other.id && (one.id !== undefined || outlineOf(one) === outlineOf(other));
}

function outlineOf({ content }: UserMessage): string {
  if (typeof content === "string") return JSON.stringify([content]);
  return JSON.stringify(content.map((part) => (part.type === "text" ? part.text : { type: part.type })));
}

/** The process of the run may have died after the run had ended, but before the ending was stored. */
function statusOf({ status }: ConversationRecord, run: JournalInspection | undefined): ConversationRecord["status"] {
  return status !== "running" || run === undefined || run.status === "not-started" ? status : run.status;
}

function mayGoOn(status: ConversationRecord["status"], { resume }: HostedLoopOptions): boolean {
  return status === "running" || status === "suspended" || (resume === "retry-last" && reopenable.has(status));
}

/**
 * True if the decisions arrive a second time, because the run failed after it had used them. The run then tries again, as for a
 * message that arrives a second time. The run itself refuses decisions that it has not used.
 */
function isRepeatedDecision({ status, messages, own = 0 }: ConversationRecord, { answers = {} }: ResumeOptions): boolean {
  const ids = Object.keys(answers);
  if (ids.length === 0 || (status !== "error" && status !== "timeout")) return false;
  const results = messages.slice(own).flatMap((message) => (message.role === "tool" ? message.results : []));
  const called = new Set(results.map(({ callId }) => callId));
  return ids.every((id) => called.has(id.replace(/[/#].*$/s, "")));
}

function toStatus(record: ConversationRecord | undefined): LoopStatus | undefined {
  return record === undefined || record.status === "running" ? undefined : record.status;
}

/** Rejects with BusyError if another process has changed the stored record since it was read as `before`. */
export async function checkUnchanged(store: RunStore, id: string, before: ConversationRecord | undefined): Promise<void> {
  const now = await store.read(id);
  const isSame = now?.runs === before?.runs && now?.status === before?.status && now?.epoch === before?.epoch;
  if (!isSame) throw new BusyError("Another process has the conversation.");
}
