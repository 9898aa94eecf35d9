import {
  invalidOption,
  isInboxKey,
  type Journal,
  listOf,
  LoopError,
  type LoopStatus,
  type Message,
  recordOf,
  unlessMissing,
  type UserMessage,
} from "../core/entry-kit.ts";
import { toCallPath } from "../core/web-kit.ts";
import { inspectJournal } from "../journal/index.ts";
import { endCalls } from "../journal/inspect/end-calls.ts";
import type { ExecutionPlan } from "./execute-run.ts";
import { addReport, noHandover, type RunReport, toReport, withHandover, withoutRefused } from "./handover.ts";
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
  /** If the previous run crashed, its journal stays locked until the new run has begun. `release` releases this lock. */
  release(): Promise<void>;
}

const noRelease = (): Promise<void> => Promise.resolve();

export interface Starting {
  readonly id: string;
  readonly turn: RunTurn;
  readonly given: ReadStart;
  readonly whenSuspended: WhenSuspended;
}

/** An answer of `start` that changes nothing. */
export type UnstartedAnswer = Extract<StartAnswer, { readonly kind: "waiting" | "repeated" | "unknown-message" }>;

export async function planStart(store: RunStore, starting: Starting): Promise<RunPlan | UnstartedAnswer> {
  const { id } = starting;
  const record = await store.read(id);
  const { history, isCut, release } = await readHistory(store, id, record);
  let planned: RunPlan | UnstartedAnswer | undefined;
  try {
    planned = await planNext(store, starting, { record, history, isCut, release });
    return planned;
  } finally {
    if (planned === undefined || "kind" in planned || planned.isResumed) await release();
  }
}

interface FoundHistory extends ReadHistory {
  readonly record: ConversationRecord | undefined;
}

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
  const turns = record?.turns?.filter(({ to }) => to <= unchanged);
  const claim = async (): Promise<void> => {
    await checkUnchanged(store, id, record);
    const { epoch } = turn.log;
    turn.record = { runs: number, status: "running", messages, epoch, own, handover, turns, journals: record?.journals };
    await store.write(id, turn.record);
  };
  const begun = withHandover(given.loop, handover);
  // If the run recorded nothing before the crash, its messages may still have calls without results.
  const loop = isCut && given.messages === undefined ? { repair: true, ...begun } : begun;
  const journal = store.journal(id, number);
  return { loop, messages, journal, isResumed: false, isContinued: false, previous: undefined, claim, release };
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
  const journal = store.journal(id, record.runs);
  const inspection = journal.read === undefined ? undefined : await inspectJournal(journal).catch(unlessMissing);
  const isRecorded = inspection !== undefined && inspection.status !== "not-started";
  // Without its records, an ended run would begin again.
  if (!isRecorded && record.status !== "running") return repeated;
  const loop = reopenable.has(record.status) ? { ...given.loop, resume: "retry-last" as const } : given.loop;
  return { ...(await planReading(store, { id, turn, loop }, record)), isRepeated: true };
}

interface ReadHistory {
  readonly history: History;
  readonly isCut: boolean;
  release(): Promise<void>;
}

async function readHistory(store: RunStore, id: string, record: ConversationRecord | undefined): Promise<ReadHistory> {
  if (record === undefined) return { history: { messages: [], handover: noHandover }, isCut: false, release: noRelease };
  if (record.status === "running") return openCutOff(store, id, record);
  const { messages, undelivered } = record;
  const history: History = { messages, undelivered, ...toHandedOn(id, record, record.report) };
  return { history, isCut: false, release: noRelease };
}

function toHandedOn(
  id: string,
  { runs, status, reason, own, handover = noHandover, steered }: ConversationRecord,
  report: RunReport = {},
): Pick<History, "handover" | "last" | "steered"> {
  return { handover: addReport(handover, report), last: { runId: `${id}/${runs}`, status, reason, own }, steered };
}

/**
 * Reads the messages of a run that was cut off by a crash. Keeps the journal locked until `release`, so that no other process
 * resumes this run.
 */
async function openCutOff(store: RunStore, id: string, record: ConversationRecord): Promise<ReadHistory> {
  const journal = store.journal(id, record.runs);
  const close = (await journal.open?.()) ?? noRelease;
  let isHeld = true;
  const release = async (): Promise<void> => {
    if (isHeld) await close();
    isHeld = false;
  };
  try {
    const inspection = journal.read === undefined ? undefined : await inspectJournal(journal);
    const hasStarted = inspection !== undefined && inspection.status !== "not-started";
    const found = hasStarted ? { ...inspection, messages: endCalls(inspection) } : record;
    const messages = withoutRefused(found, record.own ?? 0);
    // A run records its beginning before its first request, so a run without a record has spent nothing.
    const report = hasStarted ? toReport(inspection) : noHandover;
    const undelivered = await readUnsent(journal, record);
    return { history: { messages, undelivered, ...toHandedOn(id, record, report) }, isCut: true, release };
  } catch (error) {
    await release();
    throw error;
  }
}

interface Resuming {
  readonly id: string;
  readonly turn: RunTurn;
  readonly loop: Omit<ResumeOptions, "stopWhenUnread">;
  /** Returns the events of the run so far, or undefined if this process does not have them. */
  takeLog(number: number, epoch: string | undefined): RunLog | undefined;
}

export async function planResume(
  store: RunStore,
  { id, turn, loop, takeLog }: Resuming,
): Promise<RunPlan | Extract<ResumeAnswer, { readonly kind: "not-resumable" }>> {
  const record = await store.read(id);
  if (record === undefined || !mayGoOn(record.status, loop)) return { kind: "not-resumable", status: toStatus(record) };
  refuseDecisions(record, loop.decisions);
  return planReading(store, { id, turn, loop, takeLog }, record);
}

/** Plans to read the last run from its journal. If the run has not ended, it continues after its records. */
async function planReading(
  store: RunStore,
  { id, turn, loop, takeLog }: Omit<Resuming, "takeLog"> & Partial<Pick<Resuming, "takeLog">>,
  record: ConversationRecord,
): Promise<RunPlan> {
  const { runs, status, steered, own, handover = noHandover, turns, journals } = record;
  turn.number = runs;
  turn.runId = `${id}/${runs}`;
  const journal = store.journal(id, runs);
  const messages = status === "running" ? record.messages : await readInitial(journal);
  for (const message of await readUnsent(journal, record)) turn.control.steer(message);
  const log = takeLog?.(runs, record.epoch);
  if (log !== undefined) turn.log = log;
  const claim = async (): Promise<void> => {
    await checkUnchanged(store, id, record);
    const { epoch } = turn.log;
    turn.record = { runs, status: "running", messages, epoch, steered, own, handover, turns, journals };
    await store.write(id, turn.record);
  };
  const isContinued = log !== undefined;
  const begun = withHandover(loop, handover);
  return { loop: begun, messages, journal, isResumed: true, isContinued, previous: record, claim, release: noRelease };
}

/** If the process of the run died before it stored the ending in the record, reads the ending from the journal. */
export async function readEnding(
  store: RunStore,
  id: string,
  record: ConversationRecord,
): Promise<Pick<ConversationRecord, "status" | "reason" | "messages">> {
  const journal = record.status === "running" ? store.journal(id, record.runs) : undefined;
  if (journal?.read === undefined) return record;
  const { status, reason, messages } = await inspectJournal(journal);
  if (status === "running" || status === "not-started") return record;
  return { status, reason, messages: withoutRefused({ reason, messages }, record.own ?? 0) };
}

/**
 * Returns the steered messages that the run has not read from its inbox. The run reads its inbox in order, and the journal
 * records how many messages were read.
 */
async function readUnsent(journal: Journal, { steered = [] }: ConversationRecord): Promise<readonly UserMessage[]> {
  if (steered.length === 0 || journal.read === undefined) return steered;
  let taken = 0;
  for (const [key, answer] of await journal.read()) if (isInboxKey(key)) taken += listOf(recordOf(answer).messages).length;
  return steered.slice(taken);
}

const reopenable: ReadonlySet<string> = new Set<LoopStatus>(["error", "timeout", "stopped-by-user"]);

function mayGoOn(status: ConversationRecord["status"], { resume }: HostedLoopOptions): boolean {
  return status === "running" || status === "suspended" || (resume === "retry-last" && reopenable.has(status));
}

function toStatus(record: ConversationRecord | undefined): LoopStatus | undefined {
  return record === undefined || record.status === "running" ? undefined : record.status;
}

/**
 * Throws LoopError "unknown-decision" if a decision names a call that does not wait. Does not check decisions for a run that was
 * cut off by a crash, because its record does not list the waiting calls.
 */
function refuseDecisions({ status, reason }: ConversationRecord, decisions: ResumeOptions["decisions"] = {}): void {
  if (status === "running" || reason === undefined || !("calls" in reason)) return;
  const waiting = reason.calls.map(({ id }) => id);
  // A result may name its call without the suffix of the id, such as `#2`. The suffix counts how often the result was requested.
  const short = reason.calls.flatMap((call) =>
    call.waitsFor === "result" && call.question === undefined ? [toCallPath(call)] : [],
  );
  const unknown = Object.keys(decisions).find((call) => !waiting.includes(call) && !short.includes(call));
  if (unknown !== undefined) throw new LoopError("unknown-decision", { call: unknown, waiting: waiting.slice(0, 10) });
}

async function readInitial(journal: Journal): Promise<readonly Message[]> {
  if (journal.read === undefined)
    throw invalidOption(
      "store.journal(...).read",
      "a function, because the host reads the first messages of a resumed run from its journal",
      undefined,
    );
  return (await inspectJournal(journal)).initialMessages;
}

/** Rejects with BusyError if another process has changed the stored record since it was read as `before`. */
async function checkUnchanged(store: RunStore, id: string, before: ConversationRecord | undefined): Promise<void> {
  const now = await store.read(id);
  const isSame = now?.runs === before?.runs && now?.status === before?.status && now?.epoch === before?.epoch;
  if (!isSame) throw new BusyError("Another process has the conversation.");
}
