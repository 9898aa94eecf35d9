// Reads the state of a run from its journal, without the options of the run and without running anything.

import {
  type EndReason,
  invalidOption,
  isRecord,
  type Journal,
  LoopError,
  type LoopStatus,
  type Message,
  recordVersion,
  runKey,
  type RunRecord,
  type Usage,
} from "../../core/entry-kit.ts";
import { readJournal } from "../journal-session.ts";
import { type PendingCall, toRecords } from "./records.ts";
import { rebuildRun } from "./rebuild-run.ts";

/** `not-started` before the first record. `running` until the run ends, even if its process died. Otherwise the status of its result. */
export type InspectedStatus = "not-started" | "running" | LoopStatus;

/** A run as recorded in its journal. Plain data. */
export interface JournalInspection {
  /** Undefined if the caller set no id, or the run has not started. */
  readonly runId: string | undefined;
  readonly status: InspectedStatus;
  /** How the run ended, or what it waits for; undefined while it is running. */
  readonly reason: EndReason | undefined;
  /** The messages that the run was started with. Pass them to the call that resumes it. Empty if it has not started. */
  readonly initialMessages: readonly Message[];
  /** The transcript so far. Calls that are still running have no results in it. */
  readonly messages: readonly Message[];
  /** Calls without an outcome, in order, including those inside nested runs. Empty once the run has ended. */
  readonly pendingCalls: readonly PendingCall[];
  /** The last text of the model that was not blank, trimmed; empty if there was none. */
  readonly text: string;
  /** Usage of all streams and nested runs that are recorded as finished. */
  readonly usage: Usage;
  /** USD; undefined if the cost of a stream is unknown. */
  readonly costUSD: number | undefined;
  /** Iterations that have begun to count towards `maxIterations`. */
  readonly iterations: number;
  /** Includes calls inside nested runs. */
  readonly toolCallsExecuted: number;
  /** When the run last read its inbox, in milliseconds of its clock; undefined before its first iteration. */
  readonly lastSeenMs: number | undefined;
}

/**
 * Reads a journal file, or a journal, and returns the state of its run: status, transcript, calls without an outcome, and usage.
 * It sends no request, runs no tool, takes no lock and writes nothing. It needs none of the run's options, and can be called
 * while the run is live: an incomplete last line is ignored.
 *
 * Rejects with errors of the disk, such as ENOENT, and with LoopError:
 *
 * - "invalid-option" unless the argument is a path or a journal with `read`
 * - "journal-mismatch" for records of another version
 * - "journal-damaged" for a changed file or record
 * - "journal-refused" for a file that is not a journal
 *
 * To resume the run from the journal alone, call `runToolLoop` with `runId`, and with `initialMessages` as its `messages`.
 *
 * @example
 * const { runId, pendingCalls } = await inspectJournal("runs/order-7.jsonl");
 * for (const { id, name, args, state } of pendingCalls) if (state === "awaiting-approval") console.log(runId, id, name, args);
 */
export async function inspectJournal(source: string | Journal): Promise<JournalInspection> {
  const { answers, durable } = await readSource(source);
  const records = toRecords(answers);
  const record = records.find<RunRecord>(runKey);
  const { state, ending, pendingCalls } = rebuildRun(records, records.last === undefined ? { messages: [] } : check(record));
  return {
    runId: record?.runId,
    status: ending?.status ?? (record === undefined ? "not-started" : "running"),
    reason: ending?.reason,
    initialMessages: record?.messages ?? [],
    messages: state.messages,
    pendingCalls: durable || ending !== undefined ? pendingCalls : pendingCalls.map(toUnsure),
    text: state.finalText.trim(),
    usage: state.usage,
    costUSD: state.costUSD,
    iterations: state.countedIterations,
    toolCallsExecuted: state.toolCallsExecuted,
    lastSeenMs: state.lastInbox?.now,
  };
}

/** Without a recorded intent, a call that is running has no record. */
function toUnsure(call: PendingCall): PendingCall {
  return call.state === "not-begun" ? { ...call, state: "may-have-run" } : call;
}

interface Source {
  readonly answers: ReadonlyMap<string, unknown>;
  /** True if the start of a call is recorded, and not only its end. */
  readonly durable: boolean;
}

async function readSource(source: unknown): Promise<Source> {
  if (typeof source === "string" && source !== "") return { answers: (await readJournal(source)).answers, durable: true };
  const journal: Partial<Journal> = isRecord(source) ? source : {};
  if (typeof journal.read !== "function")
    throw invalidOption("source", 'the path of a journal file, or a journal that has "read"', source);
  const answers: unknown = await journal.read();
  if (answers instanceof Map) return { answers, durable: journal.durable === true };
  throw invalidOption("source.read()", "a Map of the answers of all steps by key", answers);
}

/** Rejects records of another version, which have another meaning, and journals that do not begin with a run. */
function check(record: Partial<RunRecord> | undefined): RunRecord {
  const { version } = record ?? {};
  if (version === recordVersion) return record as RunRecord;
  throw new LoopError("journal-mismatch", { field: "version", expected: String(recordVersion), received: String(version) });
}
