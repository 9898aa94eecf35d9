import {
  invalidOption,
  isInboxKey,
  type Journal,
  listOf,
  LoopError,
  type LoopStatus,
  type Message,
  recordOf,
  type UserMessage,
} from "../core/entry-kit.ts";
import { toCallPath } from "../core/web-kit.ts";
import { inspectJournal } from "../journal/index.ts";
import { endCalls } from "../journal/inspect/end-calls.ts";
import type { ExecutionPlan } from "./execute-run.ts";
import type { HostedLoopOptions, ResumeAnswer, ResumeOptions } from "./run-host.ts";
import type { RunLog } from "./run-log.ts";
import type { ConversationRecord, RunStore } from "./run-store.ts";
import type { RunTurn } from "./run-turn.ts";
import { type History, type ReadStart, toMessages } from "./start-options.ts";

export class BusyError extends Error {}

/** A planned start or resume. Nothing is written to the store until the journal of the run is open. */
export interface RunPlan extends Omit<ExecutionPlan, "wrapOptions"> {
  /** The record to restore if the resume is refused. */
  readonly previous: ConversationRecord | undefined;
  /** If the previous run crashed, its journal stays locked until the new run has begun. `release` releases this lock. */
  release(): Promise<void>;
}

const noRelease = (): Promise<void> => Promise.resolve();

interface Starting {
  readonly id: string;
  readonly turn: RunTurn;
  readonly given: ReadStart;
}

export async function planStart(store: RunStore, { id, turn, given }: Starting): Promise<RunPlan> {
  const record = await store.read(id);
  const number = (record?.runs ?? 0) + 1;
  const { history, isCut, release } = await readHistory(store, id, record);
  try {
    const messages = toMessages(history, given);
    turn.number = number;
    turn.runId = `${id}/${number}`;
    const claim = async (): Promise<void> => {
      await checkUnchanged(store, id, record);
      turn.record = { runs: number, status: "running", messages, epoch: turn.log.epoch };
      await store.write(id, turn.record);
    };
    // If the run recorded nothing before the crash, its messages may still have calls without results.
    const loop = isCut && given.messages === undefined ? { repair: true, ...given.loop } : given.loop;
    const journal = store.journal(id, number);
    return { loop, messages, journal, isResumed: false, isContinued: false, previous: undefined, claim, release };
  } catch (error) {
    await release();
    throw error;
  }
}

interface ReadHistory {
  readonly history: History;
  readonly isCut: boolean;
  release(): Promise<void>;
}

async function readHistory(store: RunStore, id: string, record: ConversationRecord | undefined): Promise<ReadHistory> {
  if (record === undefined) return { history: { messages: [] }, isCut: false, release: noRelease };
  if (record.status !== "running") return { history: record, isCut: false, release: noRelease };
  return openCutOff(store, id, record);
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
    const messages = hasStarted ? endCalls(inspection) : record.messages;
    return { history: { messages, undelivered: await readUnsent(journal, record) }, isCut: true, release };
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
  const { runs, status, steered } = record;
  turn.number = runs;
  turn.runId = `${id}/${runs}`;
  const journal = store.journal(id, runs);
  const messages = status === "running" ? record.messages : await readInitial(journal);
  for (const message of await readUnsent(journal, record)) turn.control.steer(message);
  const log = takeLog(runs, record.epoch);
  if (log !== undefined) turn.log = log;
  const claim = async (): Promise<void> => {
    await checkUnchanged(store, id, record);
    turn.record = { runs, status: "running", messages, epoch: turn.log.epoch, steered };
    await store.write(id, turn.record);
  };
  const isContinued = log !== undefined;
  return { loop, messages, journal, isResumed: true, isContinued, previous: record, claim, release: noRelease };
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
  return status === "running" || status === "not-started" ? record : { status, reason, messages };
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
